"""Migrations of the feature."""
