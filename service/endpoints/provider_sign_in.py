"""Signing in with providers of OpenID Connect: ``/api/auth/oidc``."""

import html
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qsl

import msgspec
from msgspec import UNSET, Meta, UnsetType

from service.administration.provider_sign_in import BEGUN_LIFE, Beginning, ProviderSignIn, Returned
from service.authn.sessions import Sessions
from service.endpoints.oauth import OAuthError
from service.endpoints.record_endpoints import Endpoint
from service.endpoints.tokens import NO_KEYS, Device, TokenPair, handed
from service.errors import (
    AccountBanned,
    AccountDisabled,
    Conflict,
    NotFound,
    RateLimited,
    SecondFactorRequired,
    SignInFailed,
)
from service.kernel.assurance import Acr
from service.kernel.device import device_from
from service.web.content.streams import Stream, nothing
from service.web.messages import operation_metadata as operation
from service.web.messages.context import RequestContext
from service.web.messages.cookies import Cookies
from service.web.messages.schema import Document, ProtocolSchema, Schema

_HTML: Final = "text/html; charset=utf-8"
_MAX_FORM: Final = 128 * 1024
_MOST_PARAMETERS: Final = 20
_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PAGE: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Signed in</title>"
    '<meta http-equiv=refresh content="0; url={next}"><p><a href="{next}">Go on</a></p></html>'
)

_Next = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1500,
        examples=["/console"],
        description="Where the browser goes then: a path here, or a URL of one of `oidc.next_origins`.",
    ),
]
_Challenge = Annotated[
    str,
    Meta(
        max_length=128,
        examples=["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"],
        description="The S256 challenge (RFC 7636) of a verifier that the front end keeps; not with cookies.",
    ),
]


class SignInProvider(Schema):
    """A provider at which people sign in, and what a page calls it."""

    name: Annotated[str, Meta(examples=["entra"])]
    title: Annotated[str, Meta(examples=["Example Inc."])]


_Provider = Annotated[str, Meta(max_length=32, examples=["entra"])]


class SignInProviders(Schema):
    """All providers, in the order of the settings."""

    items: list[SignInProvider]


class StartQuery(Schema):
    """Where to go after the sign-in, and what binds it to a front end."""

    next: _Next
    challenge: _Challenge | None = None
    device: Device | None = None


class CallbackQuery(ProtocolSchema):
    """What a provider sends back (RFC 6749 §4.1.2, RFC 9207); other parameters are ignored."""

    state: Annotated[str, Meta(max_length=512, examples=["uSQ3…"])]
    code: Annotated[str, Meta(max_length=4096, examples=["SplxlO…"])] | None = None
    iss: Annotated[str, Meta(max_length=1024, examples=["https://login.example.com"])] | None = None
    error: Annotated[str, Meta(max_length=256, examples=["access_denied"])] | None = None


class CodeOrder(Schema):
    """The code that a front end got, and the verifier that it has kept."""

    code: Annotated[str, Meta(min_length=1, max_length=128)]
    verifier: Annotated[str, Meta(min_length=43, max_length=128)]


class ProviderLinkOrder(Schema):
    """Where to go once the account is linked, and what binds it to a front end."""

    next: _Next
    challenge: _Challenge | None = None


class ProviderStepUp(ProviderLinkOrder):
    """How strongly to authenticate at the provider, and how many seconds ago at most."""

    acr: Annotated[Acr, Meta(description="What the session is to rest on then.")] = "pwd"
    max_age: Annotated[int, Meta(ge=0, le=86_400, examples=[300])] = 300


class SignInPlace(Schema):
    """Where the browser goes to sign in."""

    url: Annotated[str, Meta(examples=["https://login.example.com/authorize?client_id=portcullis"])]


class LogoutPlace(Schema):
    """Where the browser goes to log out at the provider too; null where there is nothing to do."""

    url: Annotated[str | None, Meta(examples=["https://login.example.com/logout"])]


class LogoutForm(ProtocolSchema):
    """A logout token (OpenID Connect Back-Channel Logout 1.0 §2.5)."""

    logout_token: Annotated[str, Meta(min_length=1)]


class LoggedOut(ProtocolSchema):
    """Nothing more to say (§2.8)."""

    ended: int | UnsetType = UNSET


class ProviderList(Endpoint[ProviderSignIn]):
    """``/api/auth/oidc``."""

    @operation.public
    @operation.named("listSignInProviders")
    async def on_get(self, context: RequestContext) -> SignInProviders:
        """List the providers at which people sign in."""
        return SignInProviders([SignInProvider(*each) for each in self.part.names()])


class _InBrowser:
    """The base of the endpoints that browsers are sent through."""

    def __init__(self, sign_in: ProviderSignIn, cookies: Cookies) -> None:
        self._sign_in = sign_in
        self._cookies = cookies

    async def _begin(
        self, context: RequestContext, provider: str, next_: str, device: str, **options: Any
    ) -> Beginning:
        begun = await self._sign_in.begin(
            provider, next_, device, context.address, in_cookies=self._cookies.on, **options
        )
        if begun.binding:
            self._cookies.bind(context, begun.binding, BEGUN_LIFE)
        return begun


class SignInStart(_InBrowser):
    """``/api/auth/oidc/{provider}/start``."""

    @operation.public
    @operation.sends(_HTML)
    @operation.refuses(NotFound, RateLimited)
    @operation.named("startSignIn")
    async def on_get(self, context: RequestContext, query: StartQuery, provider: _Provider) -> Stream:
        """Send the browser to a provider to sign in."""
        device = query.device or device_from(context.user_agent)
        begun = await self._begin(context, provider, query.next, device, challenge=query.challenge)
        return _to(begun.url)


class SignInCallback(_InBrowser):
    """``/api/auth/oidc/{provider}/callback``."""

    @operation.public
    @operation.sends(_HTML)
    @operation.logged("auth", "return from a provider", "LOGIN", params=False, response=False)
    @operation.refuses(NotFound, SignInFailed, SecondFactorRequired, AccountDisabled, AccountBanned)
    @operation.refuses(Conflict, RateLimited)
    @operation.named("endSignIn")
    async def on_get(self, context: RequestContext, query: CallbackQuery, provider: _Provider) -> Stream:
        """Take the browser back from the provider, and lead it on.

        A front end gets a `code` in the query of `next`, for `POST /api/auth/oidc/token`. With cookies the
        session is open, and a page of this service leads on, so that strict cookies are sent.
        """
        returned = await self._sign_in.returned(
            provider,
            state=query.state,
            code=None if query.error else query.code,
            iss=query.iss,
            binding=self._cookies.bound(context.request),
            address=context.address,
            user_agent=context.user_agent,
        )
        return self._lead_on(context, returned)

    def _lead_on(self, context: RequestContext, returned: Returned) -> Stream:
        if not self._cookies.on:
            return _to(returned.next)
        self._cookies.bind(context, "", 0)
        if returned.pair is not None:
            self._cookies.set(context, returned.pair)
        page = _PAGE.format(next=html.escape(returned.next)).encode()
        context.respond_header("Content-Security-Policy", _POLICY)
        return Stream(_only(page), _HTML, {"Referrer-Policy": "no-referrer"}, length=len(page))


class SignInToken:
    """``/api/auth/oidc/token``."""

    def __init__(self, sign_in: ProviderSignIn, cookies: Cookies) -> None:
        self._sign_in = sign_in
        self._cookies = cookies

    @operation.public
    @operation.logged("auth", "sign in with a provider", "LOGIN", params=False, response=False)
    @operation.refuses(SignInFailed, SecondFactorRequired, AccountDisabled, AccountBanned)
    @operation.refuses(Conflict, RateLimited)
    @operation.example_body({"code": "n4Qp…", "verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"})
    @operation.named("issueSignInTokens")
    @operation.refuses_keys(NO_KEYS)
    async def on_post(self, context: RequestContext, body: CodeOrder) -> TokenPair:
        """Get the tokens of a new session for the code that a sign-in has led back with.

        The code works once, for 60 seconds, and with the verifier whose challenge began the sign-in.
        """
        self._cookies.check_source(context.request)
        pair = await self._sign_in.redeem(body.code, body.verifier, context.address, context.user_agent)
        return handed(pair, context, self._cookies)


class AccountLink(_InBrowser):
    """``/api/auth/oidc/{provider}/link``."""

    @operation.login
    @operation.logged("auth", "link an account of a provider", "UPDATE", params=False, response=False)
    @operation.refuses(NotFound, Conflict, RateLimited)
    @operation.example_body({"next": "/console", "challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"})
    @operation.named("startProviderLink")
    async def on_post(
        self, context: RequestContext, body: ProviderLinkOrder, provider: _Provider
    ) -> SignInPlace:
        """Begin to link the caller's account with one of a provider; the answer says where to sign in there.

        It is demanded what is demanded of a new second factor, and the login at the provider must be recent
        too. The sign-in that follows opens a new session.
        """
        caller = context.user
        await self._sign_in.require_linking(caller)
        begun = await self._begin(
            context,
            provider,
            body.next,
            caller.device,
            challenge=body.challenge,
            caller=caller,
            purpose="link",
        )
        return SignInPlace(begun.url)


class StepUpAtProvider(_InBrowser):
    """``/api/auth/oidc/{provider}/step-up``."""

    @operation.login
    @operation.asks
    @operation.refuses(NotFound, Conflict, RateLimited)
    @operation.named("stepUpAtProvider")
    @operation.example_body(
        {"next": "/console", "challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "acr": "mfa"}
    )
    async def on_post(
        self, context: RequestContext, body: ProviderStepUp, provider: _Provider
    ) -> SignInPlace:
        """Begin to prove again, or more strongly, who the caller is; the answer says where, at the provider.

        The sign-in that follows opens a session in the place of the caller's.
        """
        caller = context.user
        self._sign_in.require_person(caller)
        begun = await self._begin(
            context,
            provider,
            body.next,
            caller.device,
            challenge=body.challenge,
            caller=caller,
            purpose="step-up",
            acr=None if body.acr == "pwd" else body.acr,
            max_age=body.max_age,
        )
        return SignInPlace(begun.url)


class BackChannelLogout(Endpoint[ProviderSignIn]):
    """``/api/auth/oidc/{provider}/backchannel-logout``."""

    @operation.public
    @operation.logged("auth", "log out by the provider", "LOGOUT", params=False, response=False)
    @operation.refuses(NotFound)
    @operation.named("logOutByProvider")
    @operation.takes_form(LogoutForm, answers=LoggedOut, refuses=OAuthError, statuses=(400,))
    @operation.example_body({"logout_token": "eyJhbGciOiJSUzI1NiJ9.e30.AA"})
    async def on_post(self, context: RequestContext, provider: _Provider) -> Document:
        """End the sessions of a sign-in, as the provider says (OpenID Connect Back-Channel Logout 1.0).

        The answer has no envelope.
        """
        body = await context.request.body_within(_MAX_FORM)
        try:
            pairs = parse_qsl(body.decode("ascii"), errors="strict", max_num_fields=_MOST_PARAMETERS)
            tokens = [value for name, value in pairs if name == "logout_token"]
        except ValueError:
            tokens = []
        if len(tokens) != 1:
            return _told(OAuthError("invalid_request", "Send one logout_token"), 400)
        try:
            await self.part.log_out_at(provider, tokens[0])
        except SignInFailed:
            return _told(OAuthError("invalid_request", "The logout token was not accepted"), 400)
        return _told(LoggedOut(), 200)


class LogoutAtProvider:
    """``/api/auth/oidc/logout``."""

    def __init__(
        self, sign_in: ProviderSignIn, sessions: Sessions, cookies: Cookies, public_url: str
    ) -> None:
        self._sign_in = sign_in
        self._sessions = sessions
        self._cookies = cookies
        self._public_url = public_url

    @operation.login
    @operation.logged("auth", "log out here and at the provider", "LOGOUT")
    @operation.refuses(Conflict)
    @operation.named("logOutAtProvider")
    async def on_post(self, context: RequestContext) -> LogoutPlace:
        """End the session of the request; the answer says where the browser logs out at the provider."""
        url = await self._sign_in.end_session_url(context.user, f"{self._public_url}/")
        await self._sessions.log_out(context.user)
        self._cookies.clear(context)
        return LogoutPlace(url)


_Status = Literal[200, 400]


def _told(answer: ProtocolSchema, status: _Status) -> Document:
    return Document(msgspec.json.encode(answer), "application/json", status)


def _to(url: str) -> Stream:
    return Stream(nothing(), _HTML, {"Location": url, "Referrer-Policy": "no-referrer"}, length=0, status=303)


async def _only(page: bytes) -> AsyncGenerator[bytes, None]:
    yield page
