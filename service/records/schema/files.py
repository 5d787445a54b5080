"""The table of uploaded files; their bytes are in the object store."""

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, ForeignKey, Index, Table, Text, text

from service.records.schema.base import identity, metadata, moment
from service.records.schema.rights import user

file = Table(
    "file",
    metadata,
    identity(),
    # The key in the object store, made by the service; ``name`` is the name as uploaded.
    Column("key", Text, nullable=False, unique=True),
    Column("name", Text, CheckConstraint("name <> ''", name="name"), nullable=False),
    # For a pending file, the bytes reserved for it.
    Column("size", BigInteger, CheckConstraint("size >= 0", name="size"), nullable=False),
    Column("sha256", Text, CheckConstraint("sha256 ~ '^[0-9a-f]{64}$'", name="sha256")),
    Column("content_type", Text, nullable=False),
    Column("owner_id", ForeignKey(user.c.id, ondelete="SET NULL"), index=True),
    # The public link; the token itself is never stored.
    Column("token_hash", Text, unique=True),
    Column("token_expire_time", DateTime(timezone=True)),
    moment("create_time"),
    # Pending during the upload, then stored; discarded until its object is deleted. Only stored files are
    # shown.
    Column(
        "state",
        Text,
        CheckConstraint("state IN ('pending', 'stored', 'discarded')", name="state"),
        nullable=False,
        server_default="stored",
    ),
    # When a pending file counts as abandoned, unless its upload renews the lease.
    Column("lease_time", DateTime(timezone=True)),
    CheckConstraint("token_hash IS NOT NULL OR token_expire_time IS NULL", name="token"),
    CheckConstraint("state <> 'stored' OR sha256 IS NOT NULL", name="stored"),
    CheckConstraint("(state = 'pending') = (lease_time IS NOT NULL)", name="pending"),
    CheckConstraint("state = 'stored' OR token_hash IS NULL", name="shared"),
    Index("file_unsettled_idx", "state", postgresql_where=text("state <> 'stored'")),
)

object_space = Table(
    "object_space",
    metadata,
    # The prefix of all object keys of this database: it owns nothing else in the bucket.
    Column("prefix", Text, CheckConstraint("prefix ~ '^[0-9a-f]{32}$'", name="prefix"), primary_key=True),
    Column("swept_time", DateTime(timezone=True)),
)
"""One row, created with the table."""
