"""What a token is worth now, told to those who may ask: introspection (RFC 7662)."""

from __future__ import annotations

from typing import Any

from authlib.oauth2.rfc6749 import AuthorizationServer, OAuth2Error, OAuth2Request
from authlib.oauth2.rfc7662 import IntrospectionEndpoint

from service.authn.authenticate import Authenticator
from service.authn.oauth_messages import FormRequest, OAuthAnswer, answer, form_of, refused
from service.authn.verified import Authenticated
from service.errors import AccountBanned, RefreshRequired, TokenExpired, TokenInvalid
from service.kernel.codes import intersection
from service.kernel.permission_map import PermissionMap
from service.settings import Auth


class Introspection:
    """Answers introspection requests, whose callers the guard has admitted."""

    def __init__(self, settings: Auth, authenticator: Authenticator) -> None:
        self._settings = settings
        self._authenticator = authenticator

    async def answer(
        self,
        content_type: str | None,
        body: bytes,
        permission_map: PermissionMap,
        *,
        only_of: str | None = None,
    ) -> OAuthAnswer:
        """Return the answer: what a request with the token could do now, or ``{"active": false}``.

        With ``only_of``, a service, only the codes that begin with its name are told: what a token grants
        elsewhere may be none of the business of the account that asks (RFC 7662 §2.2 and §5).
        Access tokens of sessions, tokens of the token endpoint and API keys can be active, refresh tokens
        never. Raises ``Unavailable``: a token that can't be checked is not called inactive.
        """
        try:
            form = form_of(content_type, body)
        except OAuth2Error as error:
            return refused(error)
        authenticated = None
        if "token" in form:
            try:
                authenticated = await self._authenticator.checked(form["token"], permission_map)
            except (TokenInvalid, TokenExpired, RefreshRequired, AccountBanned):
                authenticated = None
        token = None if authenticated is None else _Token(authenticated, self._settings, only_of)
        server = _Server()
        server.register_endpoint(_Endpoint(token))
        # The hint is ignored, as RFC 7662 §2.1 allows: all kinds of tokens are tried anyway.
        form.pop("token_type_hint", None)
        given: OAuthAnswer = server.create_endpoint_response(_Endpoint.ENDPOINT_NAME, FormRequest(form))
        return given


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
        if authenticated.expires is not None:
            self.payload["exp"] = int(authenticated.expires)
        if (authentication := caller.authentication) is not None:  # RFC 9470 §6.2
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


class _Server(AuthorizationServer):  # type: ignore[misc]  # the same
    def create_oauth2_request(self, request: OAuth2Request) -> OAuth2Request:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> OAuthAnswer:
        return answer(status, body, headers)
