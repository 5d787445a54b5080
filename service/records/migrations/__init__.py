"""Bring the schema of a database that exists up to date; run by ``service.records.installation.migrate``."""
