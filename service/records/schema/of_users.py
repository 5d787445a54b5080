"""What users leave: uploaded files, whose bytes are in the object store, kept answers, and mails."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from service.records.schema.base import chosen, digest, filled, identity, metadata, moment
from service.records.schema.rights import user

file = Table(
    "file",
    metadata,
    identity(),
    # The key in the object store, made by the service; ``name`` is the name as uploaded.
    Column("key", Text, nullable=False, unique=True),
    filled("name"),
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
    chosen("state", "pending", "stored", "discarded", nullable=False, server_default="stored"),
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

idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("user_id", ForeignKey(user.c.id, ondelete="CASCADE"), primary_key=True),
    Column("method", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    # SHA-256: clients choose keys, and may choose badly.
    digest("key_hash", primary_key=True),
    # Tells another body from the same one; never the body itself.
    Column("fingerprint", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Column("headers", JSONB, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    moment("create_time"),
    Index("idempotency_key_create_time_idx", "create_time"),
)
"""An answer is kept by the transaction that makes the write which it tells of."""

mail = Table(
    "mail",
    metadata,
    identity(),
    # The same each time that it is sent, so that mailboxes know one that comes twice.
    Column("message_id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("recipient", Text, nullable=False),
    Column("user_id", ForeignKey(user.c.id, ondelete="CASCADE"), index=True),
    # What its words tell, by name.
    Column("facts", JSONB, nullable=False),
    # The link in it, encrypted; removed when it has ended.
    Column("sealed_link", LargeBinary),
    chosen("state", "waiting", "sent", "given_up", nullable=False, server_default=text("'waiting'")),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    # When it is sent, or sent again: nobody else sends it before.
    moment("next_time"),
    moment("create_time"),
    Column("end_time", DateTime(timezone=True)),
    # Why the last attempt failed; nothing of its content.
    Column("fault", Text),
    CheckConstraint("(state = 'waiting') = (end_time IS NULL)", name="end_time"),
    CheckConstraint("state = 'waiting' OR sealed_link IS NULL", name="sealed_link"),
    Index("mail_waiting_idx", "next_time", postgresql_where=text("state = 'waiting'")),
    Index("mail_ended_idx", "end_time", postgresql_where=text("state <> 'waiting'")),
)
