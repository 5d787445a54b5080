"""``sys.operation_log`` and ``sys.login_log``: written in batches, chained by hash, read by cursor."""
