"""Backup and restore: the archive, the data read for it, and the changes made by a restore.

Independent of command options and output.
"""
