"""Uploaded files: what the object store does not know about them."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, ForeignKey, Table, Text

from service.records.schema.access import user
from service.records.schema.base import identity, metadata, moment

file = Table(
    "file",
    metadata,
    identity(),
    # Its place in the object store, made by the service; ``name`` is the name as uploaded.
    Column("key", Text, nullable=False, unique=True),
    Column("name", Text, CheckConstraint("name <> ''", name="name"), nullable=False),
    Column("size", BigInteger, CheckConstraint("size >= 0", name="size"), nullable=False),
    Column("sha256", Text, CheckConstraint("sha256 ~ '^[0-9a-f]{64}$'", name="sha256"), nullable=False),
    Column("content_type", Text, nullable=False),
    Column("owner_id", ForeignKey(user.c.id, ondelete="SET NULL"), index=True),
    # The public link; the token itself is never stored.
    Column("token_hash", Text, unique=True),
    Column("token_expire_time", DateTime(timezone=True)),
    moment("create_time"),
    CheckConstraint("token_hash IS NOT NULL OR token_expire_time IS NULL", name="token"),
)
