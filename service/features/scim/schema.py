"""Tables of SCIM provisioning: users as directories know them, and groups with their members."""

import sqlalchemy as sa

from service.features.directories.schema import directory
from service.records.schema.base import filled, folded, identity, metadata, versioned
from service.records.schema.rights import user

scim_user = sa.Table(
    "scim_user",
    metadata,
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    sa.Column("directory", sa.ForeignKey(directory.c.name, ondelete="CASCADE"), nullable=False),
    # Attributes from the client without a column in the account.
    *(sa.Column(name, sa.Text) for name in ("external_id", "display_name", "formatted_name", "email_type")),
    # Deleted by the client: the account is disabled, and hidden from the client until it creates it again.
    sa.Column("gone", sa.Boolean, nullable=False, server_default=sa.false()),
    *map(folded, ("display_name", "formatted_name", "email_type")),
    sa.Index(None, "directory", "external_id"),
)

scim_group = sa.Table(
    "scim_group",
    metadata,
    identity(),
    sa.Column("directory", sa.ForeignKey(directory.c.name, ondelete="CASCADE"), nullable=False),
    filled("display_name"),
    sa.Column("external_id", sa.Text),
    *versioned(),
    folded("display_name"),
    # The mapping refers to groups by name, so names must be unique.
    sa.UniqueConstraint("directory", "display_name"),
)

scim_member = sa.Table(
    "scim_member",
    metadata,
    sa.Column("group_id", sa.ForeignKey(scim_group.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column(
        "user_id", sa.ForeignKey(scim_user.c.user_id, ondelete="CASCADE"), primary_key=True, index=True
    ),
)
