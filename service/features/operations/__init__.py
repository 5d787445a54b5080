"""Backup, restore and ``doctor``: the tasks of an operator."""
