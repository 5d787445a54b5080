"""Restore epochs of the database: what a backup reads, and what a restore leaves out."""
