"""Findings of the lint: what a start does not refuse, and what reviewers accept with a reason."""
