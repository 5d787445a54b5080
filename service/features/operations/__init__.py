"""Backup and restore, and ``doctor``: what an operator sees to."""
