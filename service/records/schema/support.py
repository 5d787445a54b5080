"""Which versions of the program can work with the schema."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Integer, Table, Text

from service.records.schema.base import metadata, moment

schema_support = Table(
    "schema_support",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1", name="id"), primary_key=True, autoincrement=False),
    Column("least_version", Text, nullable=False),
    Column("migrated_by", Text, nullable=False),
    moment("migrate_time"),
)
"""At most one row, written by each migration."""
