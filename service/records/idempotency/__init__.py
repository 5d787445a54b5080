"""``sys.idempotency_key``: answers kept under the idempotency keys of their requests."""
