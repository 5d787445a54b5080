"""Invariants: statements about the policy that must stay true, how they are read, and whether they hold."""
