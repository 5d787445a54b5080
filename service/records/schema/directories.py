"""Directories that hand out roles: their mappings and ceilings, the accounts that they know, and sign-ins."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from service.records.schema.base import chosen, metadata, moment, versioned
from service.records.schema.rights import user

KINDS = ("oidc", "scim")
"""How a directory reaches this service: people sign in with it, or it provisions accounts."""

directory = sa.Table(
    "directory",
    metadata,
    # Of a provider of OpenID Connect, the name that the settings give it.
    sa.Column(
        "name",
        sa.Text,
        sa.CheckConstraint("name ~ '^[a-z][a-z0-9-]{0,31}$'", name="name"),
        primary_key=True,
    ),
    chosen("kind", *KINDS, nullable=False),
    # The service account that provisions; the directory stays when it is deleted.
    sa.Column("client_id", sa.ForeignKey(user.c.id, ondelete="SET NULL"), unique=True),
    # The codes of the roles that each group gives.
    sa.Column("mapping", JSONB, nullable=False),
    # The permission codes that it may hand out at most.
    sa.Column("ceiling", ARRAY(sa.Text), nullable=False),
    sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
    *versioned(),
    sa.CheckConstraint("client_id IS NULL OR kind = 'scim'", name="client_id"),
)

# No foreign keys to a directory: a provider of the settings need not have a mapping.
directory_account = sa.Table(
    "directory_account",
    metadata,
    sa.Column("source", sa.Text, primary_key=True),
    # Of a provider: who has issued the subject. Empty for an id that a provisioning client has chosen.
    sa.Column("issuer", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), nullable=False, index=True),
    # Whether the directory decides about the values of the account, and nobody else edits them.
    sa.Column("managed", sa.Boolean, nullable=False),
    moment("create_time"),
    sa.Column("last_time", sa.DateTime(timezone=True)),
)

directory_session = sa.Table(
    "directory_session",
    metadata,
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("device", sa.Text, primary_key=True),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("issuer", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    # That of the provider's session; null if it has told none.
    sa.Column("sid", sa.Text),
    # When the device session was opened, by the session store's clock: a later one is not meant.
    sa.Column("opened_time", sa.DateTime(timezone=True), nullable=False),
    sa.Index("directory_session_source_subject_idx", "source", "subject"),
)
"""The device sessions that were opened by signing in with a provider."""
