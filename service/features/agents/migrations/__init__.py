"""Migrations of the feature, in the chain of the service."""
