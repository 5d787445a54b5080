"""Assignments of roles to users: given with a beginning, an end and a reason, edited, and ended."""
