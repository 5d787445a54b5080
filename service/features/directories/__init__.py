"""Directories: what they manage is read-only elsewhere."""
