"""Operator commands for users, keys, the database, and registered routes."""
