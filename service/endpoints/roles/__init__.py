"""Roles: ``/api/role``."""
