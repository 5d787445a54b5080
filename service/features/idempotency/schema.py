"""The table of kept answers."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from service.records.schema.base import digest, metadata, moment
from service.records.schema.rights import user

idempotency_key = sa.Table(
    "idempotency_key",
    metadata,
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("method", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, primary_key=True),
    # SHA-256, since clients may choose guessable keys.
    digest("key_hash", primary_key=True),
    # Distinguishes another body from the same one; never the body itself.
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("headers", JSONB, nullable=False),
    sa.Column("answer", sa.LargeBinary, nullable=False),
    moment("create_time"),
    sa.Index("idempotency_key_create_time_idx", "create_time"),
)
"""The transaction of a write also stores the answer to it."""
