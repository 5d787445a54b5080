"""OAuth 2.0 for service accounts: ``/oauth/token`` and ``/oauth/introspect``."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from service.administration import change_log
from service.authz.engine.rules import ACCOUNT
from service.endpoints.record_endpoints import Endpoint
from service.errors import PermissionDenied, RateLimited
from service.features.services.oauth import ClientCredentials, Introspection, OAuthAnswer
from service.kernel.account_acts import Where, refusal_of
from service.kernel.assurance import Acr
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_client, logged, needs, public, takes_form, writes
from service.web.messages.schema import Document, ProtocolSchema

Scope = Annotated[str, Meta(description="Permission codes, space between.", examples=["system:user:list"])]
_Token = Annotated[str, Meta(min_length=1)]


class TokenForm(ProtocolSchema):
    """The form of a token request (RFC 6749 §4.4.2; RFC 8693 §2.1).

    `client_id` and `client_secret` are for clients that do not authenticate by HTTP Basic (§2.3.1).
    `subject_token`, `subject_token_type` and `requested_token_type` are for a token exchange alone.
    """

    grant_type: Annotated[
        Literal["client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"],
        Meta(title="GrantType"),
    ]
    scope: Scope | UnsetType = UNSET
    subject_token: Annotated[str, Meta(description="The number of a delegation.")] | UnsetType = UNSET
    subject_token_type: (
        Annotated[str, Meta(examples=["urn:portcullis:token-type:delegation"])] | UnsetType
    ) = UNSET
    requested_token_type: (
        Annotated[str, Meta(examples=["urn:ietf:params:oauth:token-type:access_token"])] | UnsetType
    ) = UNSET
    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET


class ClientToken(ProtocolSchema):
    """The token of a client (RFC 6749 §5.1); `issued_token_type` is that of an exchange (RFC 8693 §2.2.1)."""

    access_token: str
    token_type: Annotated[Literal["Bearer"], Meta(title="TokenType")]
    expires_in: Annotated[int, Meta(ge=0, description="Seconds.", examples=[900])]
    scope: Scope | UnsetType = UNSET
    issued_token_type: (
        Annotated[str, Meta(examples=["urn:ietf:params:oauth:token-type:access_token"])] | UnsetType
    ) = UNSET


class IntrospectionForm(ProtocolSchema):
    """The form of an introspection request (RFC 7662 §2.1). `token_type_hint` is ignored."""

    token: _Token
    token_type_hint: str | UnsetType = UNSET


class TokenState(ProtocolSchema):
    """The state of a token (RFC 7662 §2.2); for inactive tokens only `active`."""

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
    act: (
        Annotated[dict[str, str], Meta(description="The agent that acts for `sub`.", examples=[{"sub": "7"}])]
        | UnsetType
    ) = UNSET
    acr: Annotated[Acr, Meta(description="The authentication context of the person.")] | UnsetType = UNSET
    auth_time: (
        Annotated[int, Meta(description="The time of the proof for `acr`, in seconds since 1970.")]
        | UnsetType
    ) = UNSET


class OAuthError(ProtocolSchema):
    """An error (RFC 6749 §5.2)."""

    error: Annotated[str, Meta(examples=["invalid_client"])]
    error_description: str | UnsetType = UNSET


_MAX_BODY: Final = 64 * 1024
_JSON: Final = "application/json"


class Token(Endpoint[ClientCredentials], at="/oauth/token"):
    @public(name="issueClientToken", refuses=[RateLimited])
    @writes(
        "issue a client token",
        "LOGIN",
        module="auth",
        keeps="nothing",
        example={"grant_type": "client_credentials", "scope": "system:user:list"},
    )
    @by_client
    @takes_form(TokenForm, answers=ClientToken, refuses=OAuthError, statuses=(400, 401))
    async def on_post(self, context: RequestContext) -> Document:
        """Exchange an API key for an access token: the grant `client_credentials` (RFC 6749 §4.4).

        The client is a service account, the API key its secret: by HTTP Basic or in the form, not in both.
        With the grant `urn:ietf:params:oauth:grant-type:token-exchange` (RFC 8693) and a delegation, an agent
        gets a token with which it acts for the person who delegated. The answer has no envelope.
        """
        sent = context.request.raw_header(b"authorization")
        given, caller = await self.part.answer(
            *await _form(context), None if sent is None else sent.decode("latin-1")
        )
        if caller is not None:
            change_log.concerns(change_log.user_target(caller.user_name), caller.device)
        return _document(context, given)


class Introspect(Endpoint[Introspection], at="/oauth/introspect"):
    @needs("system:online:introspect", name="introspectToken")
    @logged(
        "introspect a token",
        "QUERY",
        module="auth",
        keeps="nothing",
        example={"token": "a token or an API key"},
    )
    @by_client
    @takes_form(IntrospectionForm, answers=TokenState, refuses=OAuthError, statuses=(400,))
    async def on_post(self, context: RequestContext) -> Document:
        """Read the state and the current permissions of a token (RFC 7662).

        Malformed, unknown and expired tokens are not active. The answer has no envelope. The caller sends an
        access token or an API key after `Bearer`, or an API key by HTTP Basic.
        """
        assert context.policy is not None  # noqa: S101 - the guard has decided by it
        policy = context.policy
        only_of = _introspectable_service(context)
        answer = await self.part.answer(*await _form(context), policy, only_of=only_of)
        return _document(context, answer)


def _introspectable_service(context: RequestContext) -> str | None:
    """Return the service whose codes the caller may introspect, None for all; PermissionDenied for none."""
    service = context.user.service
    whole: Where = "any-service" if service is None else "other-service"
    decision = context.decide(ACCOUNT, f"introspect {whole}")
    if not decision.allowed and service is not None:
        decision = context.decide(ACCOUNT, "introspect same-service")
    elif decision.allowed:
        return None
    if not decision.allowed:
        raise PermissionDenied(refusal_of(decision.object), decision)
    return service


async def _form(context: RequestContext) -> tuple[str | None, bytes]:
    """Return the media type and the body of the request; raises ``TooLarge``."""
    return context.request.content_type, await context.request.body_within(_MAX_BODY)


def _document(context: RequestContext, given: OAuthAnswer) -> Document:
    for name, value in given.headers:
        context.respond_header(name, value)
    return Document(msgspec.json.encode(given.body), _JSON, given.status)
