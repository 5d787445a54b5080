"""Backup and restore: the archive, what is read for it, and what a restore changes.

Knows neither options nor what is printed.
"""
