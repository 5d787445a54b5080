"""Assignments of roles to users, with start, expiry and reason."""
