"""Tables of users' belongings: uploaded files, notices, and accounts elsewhere."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from service.records.schema.base import chosen, filled, folded, identity, metadata, moment
from service.records.schema.rights import user

file = sa.Table(
    "file",
    metadata,
    identity(),
    # The key in the object store, made by the service; ``name`` is the name as uploaded.
    sa.Column("key", sa.Text, nullable=False, unique=True),
    filled("name"),
    # For a pending file, the bytes reserved for it.
    sa.Column("size", sa.BigInteger, sa.CheckConstraint("size >= 0", name="size"), nullable=False),
    sa.Column("sha256", sa.Text, sa.CheckConstraint("sha256 ~ '^[0-9a-f]{64}$'", name="sha256")),
    sa.Column("content_type", sa.Text, nullable=False),
    sa.Column("owner_id", sa.ForeignKey(user.c.id, ondelete="SET NULL"), index=True),
    # The public link; the token itself is never stored.
    sa.Column("token_hash", sa.Text, unique=True),
    sa.Column("token_expire_time", sa.DateTime(timezone=True)),
    moment("create_time"),
    # Pending during the upload, then stored; discarded until its object is deleted. Only stored files are
    # shown.
    chosen("state", "pending", "stored", "discarded", nullable=False, server_default="stored"),
    # When a pending file counts as abandoned, unless its upload renews the lease.
    sa.Column("lease_time", sa.DateTime(timezone=True)),
    folded("name"),
    sa.CheckConstraint("token_hash IS NOT NULL OR token_expire_time IS NULL", name="token"),
    sa.CheckConstraint("state <> 'stored' OR sha256 IS NOT NULL", name="stored"),
    sa.CheckConstraint("(state = 'pending') = (lease_time IS NOT NULL)", name="pending"),
    sa.CheckConstraint("state = 'stored' OR token_hash IS NULL", name="shared"),
    sa.Index("file_unsettled_idx", "state", postgresql_where=sa.text("state <> 'stored'")),
)

object_space = sa.Table(
    "object_space",
    metadata,
    # The prefix of all object keys of this database: it owns nothing else in the bucket.
    sa.Column(
        "prefix", sa.Text, sa.CheckConstraint("prefix ~ '^[0-9a-f]{32}$'", name="prefix"), primary_key=True
    ),
    sa.Column("swept_time", sa.DateTime(timezone=True)),
)
"""One row, created with the table."""

notice = sa.Table(
    "notice",
    metadata,
    identity(),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    chosen("acted_by", "self", "administrator", "operator", nullable=False),
    sa.Column("facts", JSONB, nullable=False),
    # The client, if it was the user's own act; null for acts of others.
    sa.Column("client_ip", sa.Text),
    sa.Column("browser", sa.Text),
    sa.Column("os", sa.Text),
    sa.Column("request_id", sa.Text),
    moment("create_time"),
    sa.Column("read_time", sa.DateTime(timezone=True)),
    sa.Index("notice_user_id_id_idx", "user_id", "id"),
    sa.Index("notice_create_time_idx", "create_time"),
)
"""Notices to users about their accounts."""

# No foreign keys to a directory: a provider of the settings need not have a mapping.
directory_account = sa.Table(
    "directory_account",
    metadata,
    sa.Column("source", sa.Text, primary_key=True),
    # The issuer of the subject, for a provider. Empty for an id that a provisioning client has chosen.
    sa.Column("issuer", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    # True if the directory decides the values of the account, and no other editor can change them.
    sa.Column("managed", sa.Boolean, nullable=False),
    # Users who could have linked it: those who handed the account over, or stood behind it then; null:
    # unknown.
    sa.Column("linked_by", ARRAY(sa.BigInteger)),
    moment("create_time"),
    sa.Column("last_time", sa.DateTime(timezone=True)),
    # For a sign-in: the groups reported by the provider, the time, and the end of the roles by them.
    sa.Column("groups", JSONB),
    sa.Column("groups_time", sa.DateTime(timezone=True)),
    sa.Column("roles_until", sa.DateTime(timezone=True)),
)
"""The directories that know users. The directories themselves are a feature (``service.kernel.feature``)."""
