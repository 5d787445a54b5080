"""Accounts that nobody uses any more: they are told, and then disabled."""
