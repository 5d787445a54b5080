"""``sys.job`` and ``sys.job_run``: when jobs are due, and how their runs ended."""
