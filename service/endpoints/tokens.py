"""Tokens: ``/api/auth/login``, ``/api/auth/refresh``, and their public keys: ``/.well-known/jwks.json``."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from service.authn import refresh as renewal
from service.authn.claims import RefreshClaims
from service.authn.login_service import LoginService
from service.authn.throttle import Throttle
from service.authn.token_issuer import TokenPair as Issued
from service.authn.tokens import Tokens
from service.endpoints.record_endpoints import Endpoint
from service.errors import (
    AccountBanned,
    AccountDisabled,
    BadRequest,
    Conflict,
    InitialPasswordExpired,
    LoginFailed,
    RateLimited,
    RefreshRejected,
    TokenInvalid,
    Unauthenticated,
)
from service.kernel.core_sentences import sentence
from service.kernel.device import DEVICE
from service.kernel.text import MAX_USER_NAME
from service.kernel.value_rules import whole
from service.records.logs.events import DeclaredKind
from service.web.messages.context import RequestContext, SessionOwner
from service.web.messages.cookies import Cookies
from service.web.messages.operation_metadata import Responders, public, writes
from service.web.messages.schema import Document, Schema

F = TypeVar("F", bound=Callable[..., Any])
SESSION_REFUSALS: Final = (AccountDisabled, AccountBanned, Conflict, RateLimited)
"""Refusals of each operation that opens or renews a session."""


def opens_session(
    action: str, kind: DeclaredKind = "LOGIN", *, example: Mapping[str, Any] | None = None
) -> Callable[[F], F]:
    """Declare an operation that answers tokens: its log entry keeps nothing, and it takes no keys."""
    again = "its answer holds tokens, which are never kept"
    return writes(action, kind, keeps="nothing", example=example, refuses_keys=again)


Device = Annotated[
    str,
    Meta(
        max_length=32,
        examples=["web"],
        description="The device type.",
        extra_json_schema={"pattern": whole(DEVICE.pattern)},
    ),
]
"""A device type; sessions reject unknown types."""
EndedDevice = Annotated[Device, Meta(examples=["old-tablet"])]
"""A device type whose session is to end; the example is not the device that reads the documentation."""


class Credentials(Schema):
    """User name, password and device of a login."""

    user_name: Annotated[str, Meta(min_length=1, max_length=MAX_USER_NAME, examples=["admin"])]
    password: Annotated[str, Meta(min_length=1, max_length=1024, examples=["three wary herons"])]
    device: Annotated[Device, Meta(description="By default from the User-Agent.")] | None = None


TokenText = Annotated[str, Meta(min_length=1, max_length=8192)]


class RefreshToken(Schema):
    """The refresh token to spend."""

    refresh_token: TokenText


class RefreshTokenIfAny(Schema):
    """The refresh token to spend; by default the one in the refresh cookie."""

    refresh_token: TokenText | None = None


class TokenPair(Schema):
    """An access token with its lifetime in seconds, and the refresh token that renews it."""

    access_token: str
    refresh_token: str
    expires_in: Annotated[int, Meta(ge=1, examples=[7200])]


def owner_of(pair: Issued) -> SessionOwner:
    """Return the user and the device that tokens were issued to."""
    return SessionOwner(pair.user_id, pair.user_name, pair.device)


def handed(pair: Issued, context: RequestContext, cookies: Cookies) -> TokenPair:
    """Return the tokens of an answer; in cookie mode also set them as cookies.

    The operation log names the owner of the session.
    """
    context.session_of = owner_of(pair)
    cookies.set(context, pair)
    return TokenPair.of(pair)


class Login(Responders, at="/api/auth/login"):
    def __init__(self, attempts: LoginService, cookies: Cookies) -> None:
        self._attempts = attempts
        self._cookies = cookies

    @public(name="logIn", refuses=[LoginFailed, InitialPasswordExpired, *SESSION_REFUSALS])
    @opens_session("login", example={"userName": "heron", "password": "four wary herons", "device": "web"})
    async def on_post(self, context: RequestContext, body: Credentials) -> TokenPair:
        """Log in with user name and password.

        Opens a session for the device; it replaces an existing one of the user on that device.
        """
        self._cookies.check_source(context.request)
        pair = await self._attempts.login(
            body.user_name, body.password, body.device, context.address, context.user_agent
        )
        return handed(pair, context, self._cookies)


async def _renewed(
    refresh: renewal.Refresh, throttle: Throttle, claims: RefreshClaims, context: RequestContext
) -> Issued:
    """Return the successor of a genuine refresh token, which counts for its account."""
    seen = await refresh.seen(claims)
    await throttle.refresh_of(claims.sub, claims.rid, live=bool(seen.device))
    pair = await refresh.renew(claims, seen)
    await refresh.hand_out(pair, context.request.is_gone)
    return pair


class Refresh(Responders, at="/api/auth/refresh"):
    def __init__(self, refresh: renewal.Refresh, throttle: Throttle) -> None:
        self._refresh = refresh
        self._throttle = throttle

    @public(name="refreshTokens", refuses=[TokenInvalid, RefreshRejected, *SESSION_REFUSALS])
    @opens_session("refresh", "REFRESH", example={"refreshToken": "eyJ…"})
    async def on_post(self, context: RequestContext, body: RefreshToken) -> TokenPair:
        """Exchange a refresh token for a new token pair.

        The new access token has the current roles and permissions. If requests race with the same token,
        one wins and the others are refused as `superseded`; a spent token that is used again later ends
        the session. After a 503 or no answer, the client repeats the token.
        """
        await self._throttle.refresh_from(context.address)
        claims = self._refresh.verify(body.refresh_token)
        pair = await _renewed(self._refresh, self._throttle, claims, context)
        context.session_of = owner_of(pair)
        return TokenPair.of(pair)


class RefreshInCookieMode(Responders, at="/api/auth/refresh"):
    """Serve refreshes whose refresh token may be in its cookie."""

    def __init__(self, refresh: renewal.Refresh, throttle: Throttle, cookies: Cookies) -> None:
        self._refresh = refresh
        self._throttle = throttle
        self._cookies = cookies

    @public(name="refreshTokens", refuses=[Unauthenticated, TokenInvalid, RefreshRejected, *SESSION_REFUSALS])
    @opens_session("refresh", "REFRESH")
    async def on_post(self, context: RequestContext, body: RefreshTokenIfAny) -> TokenPair:
        """Exchange a refresh token, from the body or the cookie, for a new token pair.

        The new access token has the current roles and permissions. If requests race with the same token, one
        wins and the others are refused as `superseded`; a spent token that is used again later ends the
        session. After a 503 or no answer, the client repeats the token. With the cookie, the CSRF token must
        be in its header.
        """
        await self._throttle.refresh_from(context.address)
        claims = self._claims(context, body.refresh_token)
        pair = await _renewed(self._refresh, self._throttle, claims, context)
        return handed(pair, context, self._cookies)

    def _claims(self, context: RequestContext, sent: str | None) -> RefreshClaims:
        """Return the claims of the only token sent, after the CSRF check if it is in the cookie."""
        self._cookies.check_source(context.request)
        kept = self._cookies.refresh_token(context.request)
        if sent is not None and kept is not None:
            raise BadRequest(sentence("two_tokens"))
        if sent is not None:
            return self._refresh.verify(sent)
        if kept is None:
            raise Unauthenticated
        claims = self._refresh.verify(kept)
        self._cookies.check_csrf(context.request, claims.sub, claims.iat)
        return claims


MEDIA_TYPE: Final = "application/jwk-set+json"


class KeySet(Endpoint[Tokens], at="/.well-known/jwks.json"):
    async def on_get(self, _context: RequestContext) -> Document:
        """Read the public keys that verify tokens now, as a JWK Set (RFC 7517 §5).

        It is empty for the HS algorithms, whose key is secret.
        """
        return Document(msgspec.json.encode({"keys": self.part.public_keys()}), MEDIA_TYPE)
