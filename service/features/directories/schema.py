"""Directories that hand out roles: their mappings and ceilings, and the sign-ins with providers."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from service.records.schema.base import chosen, metadata, versioned
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
    # Behind which user the members wait for their roles by a changed mapping; null: nobody waits.
    sa.Column("waiting_after", sa.BigInteger),
    sa.CheckConstraint("client_id IS NULL OR kind = 'scim'", name="client_id"),
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
    # Until when it may have opened a session that has not its name, by the session store's clock; 1970 once
    # it has ended, and opens none any more.
    sa.Column("opened_time", sa.DateTime(timezone=True), nullable=False),
    # Its name, which the session carries.
    sa.Column("sign_in", sa.Text, primary_key=True, server_default=""),
    sa.Index("directory_session_source_subject_idx", "source", "subject"),
)
"""The sign-ins with providers that may have opened a device session."""
