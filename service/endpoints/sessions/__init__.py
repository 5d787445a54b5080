"""Login, refresh, one's own device sessions, and those of others: ``/api/auth`` and ``/api/online``."""
