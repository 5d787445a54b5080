"""Proof that logs, policy revisions and past rights are unchanged."""
