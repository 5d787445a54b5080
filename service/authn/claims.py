"""The claims of tokens, with exact types.

``tl`` is the restore epoch of the database in which the token was issued (``service.kernel.restore_epoch``).
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from service.kernel.assurance import Acr
from service.kernel.restore_epoch import FIRST

Subject = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,18}\Z")]
DeviceName = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9_-]{0,31}\Z")]
SessionName = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")]
# On a cluster it begins with the id of its user in braces: see ``keyspace.keys``.
RefreshId = Annotated[str, Meta(pattern=r"^(?:\{[0-9]{1,19}\}\.)?[A-Za-z0-9_-]{16,64}\Z")]
# A NumericDate (RFC 7519 §2), which excludes true and "1"; up to the year 9999.
Moment = Annotated[float, Meta(gt=0, lt=253_402_300_800)]
Method = Annotated[str, Meta(pattern=r"^[a-z0-9]{1,16}\Z")]


class AccessClaims(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="typ", tag="access"):
    """The claims of an access token; exactly one of ``permissions`` and ``pb`` is present.

    ``sid`` is the name of the device session, empty for one that has none. ``acr``, ``amr`` and ``auth_time``
    are those of ``service.kernel.assurance.Authentication``; version 0.2.0 issued tokens without them.
    ``initial`` is true where the password must be changed first.
    """

    sub: Subject
    iat: Moment
    exp: Moment
    iss: str
    aud: str
    dev: DeviceName
    sid: SessionName = ""
    user_name: str
    nick_name: str
    roles: tuple[str, ...]
    permissions: tuple[str, ...] | UnsetType = UNSET
    pb: str | UnsetType = UNSET
    acr: Acr | UnsetType = UNSET
    amr: tuple[Method, ...] = ()
    auth_time: Moment | UnsetType = UNSET
    initial: bool = False
    nbf: Moment | UnsetType = UNSET
    tl: str = FIRST

    def __post_init__(self) -> None:
        if (self.permissions is UNSET) == (self.pb is UNSET):
            raise ValueError("exactly one of permissions and pb is required")
        if not (self.acr is UNSET) == (self.auth_time is UNSET) == (not self.amr):
            raise ValueError("acr, amr and auth_time must be sent together")


class RefreshClaims(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="typ", tag="refresh"):
    """The claims of a refresh token."""

    sub: Subject
    iat: Moment
    exp: Moment
    iss: str
    aud: str
    rid: RefreshId
    nbf: Moment | UnsetType = UNSET
    tl: str = FIRST


class ClientClaims(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="typ", tag="client"):
    """The claims of an access token that was issued for an API key; ``client_id`` is the key's id.

    ``scope`` are permission codes, separated by spaces (RFC 6749 §3.3): the token grants no others.
    """

    sub: Subject
    iat: Moment
    exp: Moment
    iss: str
    aud: str
    client_id: Subject
    scope: str
    nbf: Moment | UnsetType = UNSET
    tl: str = FIRST


class Actor(Struct, frozen=True):
    """The party that acts for the subject of a token (RFC 8693 §4.1); ``sub`` is its login id."""

    sub: Subject


class DelegatedClaims(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="typ", tag="delegated"
):
    """The claims of a token of an agent that acts for the person ``sub`` (RFC 8693).

    ``client_id`` is the id of the agent's API key, ``delegation`` that of the delegation. ``scope`` as in
    ``ClientClaims``; without it the delegation alone limits the token.
    """

    sub: Subject
    act: Actor
    iat: Moment
    exp: Moment
    iss: str
    aud: str
    client_id: Subject
    delegation: Subject
    scope: str | UnsetType = UNSET
    nbf: Moment | UnsetType = UNSET
    tl: str = FIRST


BearerClaims = AccessClaims | ClientClaims | DelegatedClaims
"""The claims of tokens that requests are sent with."""

Claims = AccessClaims | RefreshClaims | ClientClaims | DelegatedClaims
"""The claims of all tokens, selected by their ``typ``."""
