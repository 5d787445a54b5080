"""Endpoints of other services, and of what is open there."""
