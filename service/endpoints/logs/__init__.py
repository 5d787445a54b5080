"""The operation log and the login log: ``/api/operation-log`` and ``/api/login-log``."""
