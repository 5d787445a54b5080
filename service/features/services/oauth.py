"""OAuth 2.0 for service accounts: tokens for keys (RFC 6749 §4.4), and what a token is worth (RFC 7662)."""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from authlib.oauth2.rfc6749 import (
    AuthorizationServer,
    InvalidRequestError,
    InvalidScopeError,
    OAuth2Error,
    OAuth2Request,
    UnsupportedGrantTypeError,
)
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc6749.util import extract_basic_authorization
from authlib.oauth2.rfc7662 import IntrospectionEndpoint

from service.authn.authenticate import Authenticator
from service.authn.key_callers import KeyCaller, KeyCallers, is_client
from service.authn.token_lifetime import LEAST, life_left
from service.authn.tokens import Tokens
from service.authn.verified import Authenticated
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT
from service.errors import AccountBanned, Conflict, RefreshRequired, TokenExpired, TokenInvalid, Unavailable
from service.features.services.sentences import sentence
from service.features.services.token_exchange import EXCHANGE, TokenExchange
from service.kernel.codes import intersection, is_code
from service.kernel.identity import Caller, standing_of
from service.kernel.services import PORTCULLIS
from service.settings import Auth

# Authlib logs new tokens at this level.
logging.getLogger("authlib").setLevel(logging.WARNING)

_MOST_PARAMETERS: Final = 20
_MEDIA_TYPE: Final = "application/x-www-form-urlencoded"
_FORM: Final = re.compile(rf"{_MEDIA_TYPE}[ \t]*(?:;.*)?", re.IGNORECASE)
_URI: Final = "https://localhost/"  # Authlib checks nothing of it but the scheme


class OAuthAnswer(NamedTuple):
    """An answer: the members of its JSON, and further headers."""

    status: int
    body: Mapping[str, Any]
    headers: tuple[tuple[str, str], ...] = ()


class FormRequest(OAuth2Request):  # type: ignore[misc]  # Authlib ships no types
    """A request to an endpoint of OAuth 2.0."""

    def __init__(self, form: Mapping[str, str], authorization: str | None = None) -> None:
        super().__init__("POST", _URI, headers={"Authorization": authorization} if authorization else {})
        self.payload = BasicOAuth2Payload(form)
        self._form = form

    @property
    def form(self) -> Mapping[str, str]:
        """The parameters of the body."""
        return self._form


def form_of(content_type: str | None, body: bytes) -> dict[str, str]:
    """Return the parameters of a body; those without a value are left out (RFC 6749 §3.2).

    Raises ``InvalidRequestError`` for one that is malformed or repeats a parameter.
    """
    if _FORM.fullmatch(content_type or "") is None:
        raise InvalidRequestError(f"The body must be {_MEDIA_TYPE}")
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except ValueError:  # also for bytes beyond ASCII and for percent-encoded bytes that are no UTF-8
        raise InvalidRequestError("The body is not a well-formed form") from None
    if len({name for name, _ in pairs}) != len(pairs):
        raise InvalidRequestError("A parameter is repeated")
    return {name: value for name, value in pairs if value}


def answer(status: int, body: Mapping[str, Any], headers: Iterable[tuple[str, str]]) -> OAuthAnswer:
    """Return the answer that Authlib gives, without the headers that every answer has."""
    kept = tuple((name, value) for name, value in headers if name == "WWW-Authenticate")
    return OAuthAnswer(status, body, kept)


def refused(error: OAuth2Error) -> OAuthAnswer:
    """Return the answer of an error (RFC 6749 §5.2)."""
    return answer(*error())


METHODS: Final = ["client_secret_basic", "client_secret_post"]
"""Methods by which a client may authenticate (RFC 6749 §2.3.1)."""
_MOST_SCOPES: Final = 100
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClientCredentials:
    """Answers token requests of service accounts.

    ``client_id`` is the number of an API key or the name of its account, ``client_secret`` the key.
    """

    callers: KeyCallers
    tokens: Tokens
    lasts: int
    """The life of a token in seconds; it does not outlive its key."""
    exchange: TokenExchange | None = None
    """Exchanges delegations to agents; None if the feature is off."""

    async def answer(
        self, content_type: str | None, body: bytes, authorization: str | None
    ) -> tuple[OAuthAnswer, Caller | None]:
        """Return the answer to a request, and who gets the token; None if it is refused.

        ``content_type`` and ``authorization`` are the headers of that name. Every fault of the client's
        credentials has the same answer. Raises ``RateLimited`` for an address that tries many wrong keys, and
        ``Unavailable``.
        """
        try:
            request = FormRequest(form_of(content_type, body), authorization)
            client = await self._client(_secret(request))
            if request.form["grant_type"] == EXCHANGE:
                return await self._exchanged(request, client)
        except OAuth2Error as error:
            return refused(error), None
        given: OAuthAnswer = _Granting(client, self.tokens, self.lasts).create_token_response(request)
        return given, None if client is None or "error" in given.body else client.caller

    async def _exchanged(
        self, request: FormRequest, client: _Client | None
    ) -> tuple[OAuthAnswer, Caller | None]:
        """Return the answer to a token exchange (RFC 8693); raises the errors of its client and of itself."""
        if self.exchange is None:
            raise UnsupportedGrantTypeError(EXCHANGE)
        proved = _Granting(client, self.tokens, self.lasts).authenticate_client(request, METHODS)
        return answer(200, await self.exchange.answer(proved.caller, request.form), ()), proved.caller

    async def _client(self, secret: str | None) -> _Client | None:
        if secret is None:
            return None
        try:
            key_caller = await self._lasting(secret)
        except (TokenInvalid, TokenExpired, AccountBanned):
            return None
        # A client token has a scope, but no further caller of whom each question is asked too.
        return _Client(key_caller, secret) if key_caller.caller.kind == "service" else None

    async def _lasting(self, secret: str) -> KeyCaller:
        """Return the caller of a key with rights that last for ``LEAST``; waits while they change sooner."""
        for _ in range(_ATTEMPTS):
            known = await self.callers.of_key(secret)
            now = self.tokens.now()
            if known.changes_at is None or life_left(known.changes_at, now) >= LEAST:
                return known
            await asyncio.sleep(max(0.0, known.changes_at.timestamp() - now))
        raise Unavailable(sentence("roles_of_account_changing"))


class _Client:
    """A client whose secret has been verified, as Authlib asks about it."""

    def __init__(self, key_caller: KeyCaller, secret: str) -> None:
        self.caller = key_caller.caller
        self.expires = key_caller.expires
        self.changes_at = key_caller.changes_at
        self._secret = secret

    def is_named(self, client_id: str) -> bool:
        return is_client(self.caller, client_id)

    def check_client_secret(self, secret: str) -> bool:
        return hmac.compare_digest(secret.encode(), self._secret.encode())

    def check_endpoint_auth_method(self, method: str, _endpoint: str) -> bool:
        return method in METHODS

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "client_credentials"

    def granted(self, scope: str | None) -> str:
        """Return the codes that ``scope`` asks for and the key has now; without ``scope`` all of them."""
        held = self.caller.held.codes
        if scope is not None:
            held = intersection(held, scope.split())
            if not held:
                raise InvalidScopeError("The key has no permission within the scope")
        return " ".join(sorted(held))


class _Grant(ClientCredentialsGrant):  # type: ignore[misc]  # Authlib ships no types
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS


class _Granting(AuthorizationServer):  # type: ignore[misc]  # the same
    """Authlib's server for one request, whose client is known."""

    def __init__(self, client: _Client | None, tokens: Tokens, lasts: int) -> None:
        super().__init__()
        self._client = client
        self._tokens = tokens
        self._lasts = lasts
        self.register_grant(_Grant)

    def query_client(self, client_id: str) -> _Client | None:
        return self._client if self._client is not None and self._client.is_named(client_id) else None

    def create_oauth2_request(self, request: OAuth2Request) -> OAuth2Request:
        return request

    def validate_requested_scope(self, scope: str | None) -> None:
        asked = [] if scope is None else scope.split()
        if len(asked) > _MOST_SCOPES or not all(map(is_code, asked)):
            raise InvalidScopeError("A scope is a permission code, and at most 100 may be asked for")

    def generate_token(self, *, client: _Client, scope: str | None = None, **_more: Any) -> dict[str, Any]:
        granted, caller = client.granted(scope), client.caller
        assert caller.key_id is not None  # noqa: S101 - the caller of a key
        try:
            token, lasts = self._tokens.issue_client(
                login_id=caller.login_id,
                key_id=caller.key_id,
                scope=granted,
                lasts=self._lasts,
                ends=client.expires,
                changes_at=client.changes_at,
            )
        except Conflict:
            raise InvalidScopeError("The scope does not fit into a token: ask for less") from None
        extra = {"scope": granted} if granted else {}
        return {"access_token": token, "token_type": "Bearer", "expires_in": lasts, **extra}

    def save_token(self, _token: Mapping[str, Any], _request: OAuth2Request) -> None:
        """Store nothing: a token is signed."""

    def send_signal(self, _name: str, *_arguments: Any, **_more: Any) -> None:
        """Do nothing."""

    def handle_response(self, status: int, body: Any, headers: Any) -> OAuthAnswer:
        return answer(status, body, headers)


def _secret(request: FormRequest) -> str | None:
    """Return the secret that the client has sent, by one of ``METHODS``; None if there is none.

    Raises ``InvalidRequestError`` for a request without a grant type or with two secrets (RFC 6749 §2.3).
    """
    if "grant_type" not in request.form:
        raise InvalidRequestError("The parameter grant_type is missing")
    try:
        _client_id, by_header = extract_basic_authorization(request.headers)
    except ValueError:  # bytes that are no text
        raise InvalidRequestError("The Authorization header is malformed") from None
    by_form = request.form.get("client_secret")
    if by_header and by_form:
        raise InvalidRequestError("The client authenticates in two ways")
    secret: str | None = by_header or by_form
    return secret


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Introspection:
    """Answers introspection requests, whose callers the guard has admitted."""

    settings: Auth
    authenticator: Authenticator

    async def answer(
        self,
        content_type: str | None,
        body: bytes,
        policy: Policy,
        *,
        only_of: str | None = None,
    ) -> OAuthAnswer:
        """Return the present rights of a request with the token, or ``{"active": false}``.

        With ``only_of``, a service, only the codes that begin with its name are included: the asking account
        has no need of the other grants of a token (RFC 7662 §2.2 and §5). Access tokens of sessions, tokens
        of the token endpoint and API keys can be active, refresh tokens never. Raises ``Unavailable``: a
        token that cannot be checked is not called inactive.
        """
        try:
            form = form_of(content_type, body)
        except OAuth2Error as error:
            return refused(error)
        authenticated = None
        if "token" in form:
            try:
                authenticated = await self.authenticator.checked(form["token"], policy.permission_map)
            except (TokenInvalid, TokenExpired, RefreshRequired, AccountBanned):
                authenticated = None
        if authenticated is not None and not _may_use_key(policy, authenticated.caller):
            authenticated = None
        token = None if authenticated is None else _Token(authenticated, self.settings, only_of)
        server = _Introspecting()
        server.register_endpoint(_Endpoint(token))
        # The hint is ignored, as RFC 7662 §2.1 allows: all kinds of tokens are tried anyway.
        form.pop("token_type_hint", None)
        given: OAuthAnswer = server.create_endpoint_response(_Endpoint.ENDPOINT_NAME, FormRequest(form))
        return given


def _may_use_key(policy: Policy, caller: Caller) -> bool:
    """Return False for an API key of a person whose roles allow none; True for every other token."""
    name = None if caller.agent is not None else standing_of(caller, PORTCULLIS)
    return name is None or policy.decide(ACCOUNT, name, caller).allowed


class _Token:
    """An active token, as Authlib asks about it."""

    def __init__(self, authenticated: Authenticated, settings: Auth, only_of: str | None) -> None:
        caller = authenticated.caller
        codes = caller.held.codes if only_of is None else intersection(caller.held.codes, [f"{only_of}:*"])
        self.payload: dict[str, Any] = {
            "active": True,
            "scope": " ".join(sorted(codes)),
            "username": caller.user_name,
            "token_type": "Bearer",
            "sub": caller.login_id,
            "iss": settings.jwt_issuer,
            "aud": settings.jwt_audience,
        }
        if caller.key_id is not None:
            self.payload["client_id"] = str(caller.key_id)
        if caller.agent is not None:  # RFC 8693 §4.1
            self.payload["act"] = {"sub": str(caller.agent.agent_id)}
        if authenticated.expires is not None:
            self.payload["exp"] = int(authenticated.expires)
        authentication = None if caller.key_id is not None else caller.authentication
        if authentication is not None:  # RFC 9470 §6.2
            self.payload["acr"] = authentication.acr
            self.payload["auth_time"] = int(authentication.auth_time)
        if caller.issued_at:
            self.payload["iat"] = int(caller.issued_at)

    def is_expired(self) -> bool:
        return False  # it has just been authenticated

    def is_revoked(self) -> bool:
        return False  # the same


class _Endpoint(IntrospectionEndpoint):  # type: ignore[misc]  # Authlib ships no types
    def __init__(self, token: _Token | None) -> None:
        super().__init__()
        self._token = token

    def authenticate_endpoint_client(self, _request: OAuth2Request) -> None:
        """Return no client: the guard has authenticated and admitted the caller."""

    def query_token(self, _text: str, _hint: str | None) -> _Token | None:
        return self._token

    def check_permission(self, _token: _Token, _client: None, _request: OAuth2Request) -> bool:
        return True  # the guard has asked the policy

    def introspect_token(self, token: _Token) -> dict[str, Any]:
        return token.payload


class _Introspecting(AuthorizationServer):  # type: ignore[misc]  # the same
    def create_oauth2_request(self, request: OAuth2Request) -> OAuth2Request:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> OAuthAnswer:
        return answer(status, body, headers)
