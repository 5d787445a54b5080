"""Logout at a provider: ``/api/auth/oidc/logout``, and logout requests from the provider."""

from typing import Annotated, Final, Literal
from urllib.parse import parse_qsl

import msgspec
from msgspec import UNSET, Meta, UnsetType

from service.authn.sessions import Sessions
from service.endpoints.record_endpoints import Endpoint
from service.errors import Conflict, NotFound, SignInFailed
from service.features.oidc.api_sign_in import ProviderName
from service.features.oidc.logout import ProviderLogout
from service.features.services.api_oauth import OAuthError
from service.web.messages.context import RequestContext
from service.web.messages.cookies import Cookies
from service.web.messages.operation_metadata import Responders, by_session, login, public, takes_form, writes
from service.web.messages.schema import Document, ProtocolSchema, Schema

_MAX_FORM: Final = 128 * 1024
_MOST_PARAMETERS: Final = 20


class LogoutPlace(Schema):
    """The logout URL of the provider; null if no logout is needed there."""

    url: Annotated[str | None, Meta(examples=["https://login.example.com/logout"])]


class LogoutForm(ProtocolSchema):
    """A logout token (OpenID Connect Back-Channel Logout 1.0 §2.5)."""

    logout_token: Annotated[str, Meta(min_length=1)]


class LoggedOut(ProtocolSchema):
    """Nothing more to say (§2.8)."""

    ended: int | UnsetType = UNSET


class BackChannelLogout(Endpoint[ProviderLogout], at="/api/auth/oidc/{provider}/backchannel-logout"):
    @public(name="logOutByProvider", refuses=[NotFound])
    @writes(
        "log out by the provider",
        "LOGOUT",
        keeps="nothing",
        example={"logout_token": "eyJhbGciOiJSUzI1NiJ9.e30.AA"},
    )
    @takes_form(LogoutForm, answers=LoggedOut, refuses=OAuthError, statuses=(400,))
    async def on_post(self, context: RequestContext, provider: ProviderName) -> Document:
        """End the sessions of a sign-in, at the provider's request (OpenID Connect Back-Channel Logout 1.0).

        The answer has no envelope.
        """
        body = await context.request.body_within(_MAX_FORM)
        try:
            pairs = parse_qsl(body.decode("ascii"), errors="strict", max_num_fields=_MOST_PARAMETERS)
            tokens = [value for name, value in pairs if name == "logout_token"]
        except ValueError:
            tokens = []
        if len(tokens) != 1:
            return _document(OAuthError("invalid_request", "Send one logout_token"), 400)
        try:
            await self.part.log_out_at(provider, tokens[0])
        except SignInFailed:
            return _document(OAuthError("invalid_request", "The logout token was not accepted"), 400)
        return _document(LoggedOut(), 200)


class LogoutAtProvider(Responders, at="/api/auth/oidc/logout"):
    def __init__(self, logout: ProviderLogout, sessions: Sessions, cookies: Cookies, public_url: str) -> None:
        self._logout = logout
        self._sessions = sessions
        self._cookies = cookies
        self._public_url = public_url

    @login(name="logOutAtProvider", refuses=[Conflict])
    @by_session("end-sessions")
    @writes("log out here and at the provider", "LOGOUT", keeps="params")
    async def on_post(self, context: RequestContext) -> LogoutPlace:
        """End the session of the request; the answer has the provider's logout URL."""
        url = await self._logout.end_session_url(context.user, f"{self._public_url}/")
        await self._sessions.log_out(context.user)
        self._cookies.clear(context)
        return LogoutPlace(url)


_Status = Literal[200, 400]


def _document(answer: ProtocolSchema, status: _Status) -> Document:
    return Document(msgspec.json.encode(answer), "application/json", status)
