"""Login, refresh, the caller's device sessions, and all sessions: ``/api/auth`` and ``/api/online``."""
