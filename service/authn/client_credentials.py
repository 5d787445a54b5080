"""Access tokens for API keys: the grant of client credentials (RFC 6749 §4.4)."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

from authlib.oauth2.rfc6749 import (
    AuthorizationServer,
    InvalidRequestError,
    InvalidScopeError,
    OAuth2Error,
    OAuth2Request,
)
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc6749.util import extract_basic_authorization

from service.authn.api_keys import ApiKeyCallers, KeyCaller, is_client
from service.authn.oauth_messages import FormRequest, OAuthAnswer, answer, form_of, refused
from service.authn.tokens import Tokens
from service.errors import AccountBanned, Conflict, TokenExpired, TokenInvalid
from service.kernel.codes import intersection, is_code
from service.kernel.identity import Caller

METHODS: Final = ["client_secret_basic", "client_secret_post"]
"""How a client may authenticate (RFC 6749 §2.3.1)."""
_MOST_SCOPES: Final = 100


class ClientCredentials:
    """Answers token requests of service accounts.

    ``client_id`` is the number of an API key or the name of its account, ``client_secret`` the key.
    """

    def __init__(self, callers: ApiKeyCallers, tokens: Tokens, lasts: int) -> None:
        """``lasts`` is the life of a token in seconds; it does not outlive its key."""
        self._callers = callers
        self._tokens = tokens
        self._lasts = lasts

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
        except OAuth2Error as error:
            return refused(error), None
        given: OAuthAnswer = _Server(client, self._tokens, self._lasts).create_token_response(request)
        return given, None if client is None or "error" in given.body else client.caller

    async def _client(self, secret: str | None) -> _Client | None:
        if secret is None:
            return None
        try:
            return _Client(await self._callers.of_key(secret), secret)
        except (TokenInvalid, TokenExpired, AccountBanned):
            return None


class _Client:
    """A client whose secret has been verified, as Authlib asks about it."""

    def __init__(self, key_caller: KeyCaller, secret: str) -> None:
        self.caller = key_caller.caller
        self.expires = key_caller.expires
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


class _Server(AuthorizationServer):  # type: ignore[misc]  # the same
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
            )
        except Conflict:
            raise InvalidScopeError("The scope does not fit into a token: ask for less") from None
        extra = {"scope": granted} if granted else {}
        return {"access_token": token, "token_type": "Bearer", "expires_in": lasts, **extra}

    def save_token(self, _token: Mapping[str, Any], _request: OAuth2Request) -> None:
        """Store nothing: a token is signed."""

    def send_signal(self, _name: str, *_arguments: Any, **_more: Any) -> None:
        """Tell nobody."""

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
