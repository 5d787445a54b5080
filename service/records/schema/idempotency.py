"""The table of kept answers, by the ``Idempotency-Key`` of the requests that got them."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from service.records.schema.base import metadata, moment
from service.records.schema.rights import user

idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("user_id", ForeignKey(user.c.id, ondelete="CASCADE"), primary_key=True),
    Column("method", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    # SHA-256: clients choose keys, and may choose badly.
    Column(
        "key_hash",
        LargeBinary,
        CheckConstraint("octet_length(key_hash) = 32", name="key_hash"),
        primary_key=True,
    ),
    # Tells another body from the same one; never the body itself.
    Column("fingerprint", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("headers", JSONB, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    moment("create_time"),
    Index("idempotency_key_create_time_idx", "create_time"),
)
"""An answer is kept by the transaction that makes the write which it tells of."""
