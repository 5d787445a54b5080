"""What a policy answers to every possible caller, not only to the callers of today."""
