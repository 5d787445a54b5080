"""The timelines of this database: one row for its beginning, and one for each restore."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Integer, Table, Text

from service.records.schema.base import metadata, moment

# Tokens carry the name of the newest timeline; those of the ones before are refused.
timeline = Table(
    "timeline",
    metadata,
    Column("number", Integer, CheckConstraint("number > 0", name="number"), primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    moment("begin_time"),
)
