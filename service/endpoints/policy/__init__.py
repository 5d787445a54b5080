"""The policy in force: ``/api/policy``."""
