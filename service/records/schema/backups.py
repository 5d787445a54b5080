"""The backups that were made of this database."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, DateTime, Table, Text

from service.records.schema.base import metadata, moment

backup = Table(
    "backup",
    metadata,
    Column("id", Text, primary_key=True),
    moment("make_time"),
    Column("snapshot_time", DateTime(timezone=True), nullable=False),
    Column("user_name", Text, nullable=False),
    Column("with_files", Boolean, nullable=False),
)
