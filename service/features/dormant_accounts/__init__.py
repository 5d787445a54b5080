"""Dormant accounts: their owners are notified, and the accounts are later disabled."""
