"""Findings of the lint: faults that do not prevent a start, which reviewers can accept with a reason."""
