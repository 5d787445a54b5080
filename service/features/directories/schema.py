"""Directories that grant roles: mappings, ceilings, and sign-ins with providers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import sqlalchemy as sa
from msgspec import Meta, Struct

from service.kernel.value_rules import UpdatedBy
from service.records.schema.base import table_of, versioned
from service.records.schema.rights import user

Kind: TypeAlias = Literal["oidc", "scim"]
"""The protocol of a directory: sign-in with OpenID Connect, or provisioning with SCIM."""


class DirectoryValues(Struct, frozen=True, kw_only=True):
    """The editable values of a directory.

    ``mapping`` has the codes of the roles that each group grants, by group name. ``ceiling`` are the
    permission codes that the directory may grant. ``client_id`` is the service account of a provisioning
    client; providers of OpenID Connect have none.
    """

    kind: Kind
    client_id: int | None
    mapping: Mapping[str, Sequence[str]]
    ceiling: tuple[str, ...]
    enabled: bool = True


class Directory(DirectoryValues, frozen=True, kw_only=True):
    """A stored directory; ``version`` rises with each edit. ``client`` is the name of its service account.

    The ``name`` of a provider is its name in the settings. After a change of the mapping, members with ids
    above ``waiting_after`` wait for their roles; None if no member waits.
    """

    name: str
    client: str | None
    version: Annotated[int, Meta(ge=1, examples=[1])]
    create_time: datetime
    update_time: datetime
    updated_by: UpdatedBy
    waiting_after: int | None


directory = table_of(
    Directory,
    "directory",
    sa.Column(
        "name",
        sa.Text,
        sa.CheckConstraint("name ~ '^[a-z][a-z0-9-]{0,31}$'", name="name"),
        primary_key=True,
    ),
    # The directory remains when its service account is deleted.
    sa.Column("client_id", sa.ForeignKey(user.c.id, ondelete="SET NULL"), unique=True),
    sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
    *versioned(),
    sa.CheckConstraint("client_id IS NULL OR kind = 'scim'", name="client_id"),
    without=("client",),
)


class SignedIn(Struct, frozen=True, kw_only=True):
    """A sign-in with a provider that may have opened a session on the device.

    ``sign_in`` is its name, which the session carries. ``sid`` is the provider's session, if reported. Until
    ``opened_time``, by the session store's clock, the sign-in may have opened a session without its name. An
    ended sign-in has the year 1970, and opens no session.
    """

    user_id: int
    device: str
    source: str
    issuer: str
    subject: str
    sid: str | None
    opened_time: datetime
    sign_in: str


directory_session = table_of(
    SignedIn,
    "directory_session",
    sa.Column("user_id", sa.ForeignKey(user.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("device", sa.Text, primary_key=True),
    sa.Column("sign_in", sa.Text, primary_key=True, server_default=""),
    sa.Index("directory_session_source_subject_idx", "source", "subject"),
)
"""The sign-ins with providers that may have opened a device session."""
