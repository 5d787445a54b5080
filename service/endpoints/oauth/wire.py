"""The messages of OAuth 2.0 in the OpenAPI document: RFC 6749 §4.4 and §5, RFC 7662 §2.

Authlib reads and makes them; these types only describe them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from service.web.messages.schema import ProtocolSchema

Scope = Annotated[str, Meta(description="Permission codes, space between.", examples=["system:user:list"])]
_Token = Annotated[str, Meta(min_length=1)]


class TokenForm(ProtocolSchema):
    """The form of a token request (RFC 6749 §4.4.2).

    `client_id` and `client_secret` are for clients that do not authenticate by HTTP Basic (§2.3.1).
    """

    grant_type: Annotated[Literal["client_credentials"], Meta(title="GrantType")]
    scope: Scope | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET


class ClientToken(ProtocolSchema):
    """The token of a client (RFC 6749 §5.1)."""

    access_token: str
    token_type: Annotated[Literal["Bearer"], Meta(title="TokenType")]
    expires_in: Annotated[int, Meta(ge=0, description="Seconds.", examples=[900])]
    scope: Scope | UnsetType = UNSET


class IntrospectionForm(ProtocolSchema):
    """The form of an introspection request (RFC 7662 §2.1). `token_type_hint` is ignored."""

    token: _Token
    token_type_hint: str | UnsetType = UNSET


class TokenState(ProtocolSchema):
    """What a token is worth now (RFC 7662 §2.2); of one that is not active it says nothing else."""

    active: bool
    scope: Scope | UnsetType = UNSET
    client_id: Annotated[str, Meta(description="The number of the API key.")] | UnsetType = UNSET
    username: str | UnsetType = UNSET
    token_type: Annotated[Literal["Bearer"], Meta(title="TokenType")] | UnsetType = UNSET
    exp: Annotated[int, Meta(description="Seconds since 1970.")] | UnsetType = UNSET
    iat: Annotated[int, Meta(description="Seconds since 1970.")] | UnsetType = UNSET
    sub: Annotated[str, Meta(description="The login id.")] | UnsetType = UNSET
    aud: str | UnsetType = UNSET
    iss: str | UnsetType = UNSET


class OAuthError(ProtocolSchema):
    """An error (RFC 6749 §5.2)."""

    error: Annotated[str, Meta(examples=["invalid_client"])]
    error_description: str | UnsetType = UNSET
