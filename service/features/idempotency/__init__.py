"""Kept answers to creating requests: a repetition with the same idempotency key gets the same answer."""
