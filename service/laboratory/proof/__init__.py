"""Decisions of a policy for every possible caller, not only for the callers of today."""
