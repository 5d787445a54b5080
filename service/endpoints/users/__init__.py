"""Users: ``/api/user``."""
