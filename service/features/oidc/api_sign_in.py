"""Sign-in with providers of OpenID Connect: ``/api/auth/oidc``."""

from typing import Annotated, Any

from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.endpoints.tokens import SESSION_REFUSALS, Device, TokenPair, handed, opens_session
from service.errors import (
    NotFound,
    RateLimited,
    SecondFactorRequired,
    SignInFailed,
)
from service.features.oidc.sign_in import BEGUN_LIFE, Beginning, ProviderSignIn
from service.kernel.device import device_from
from service.web.content.pages import HTML, lead_on
from service.web.content.streams import Stream, nothing
from service.web.messages.context import RequestContext
from service.web.messages.cookies import Cookies
from service.web.messages.operation_metadata import Responders, in_browser, public, sends, writes
from service.web.messages.schema import ProtocolSchema, Schema

NextPlace = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1500,
        examples=["/console"],
        description="The target of the browser after the sign-in: a path here, or a URL of one of "
        "`oidc.next_origins`.",
    ),
]
Challenge = Annotated[
    str,
    Meta(
        max_length=128,
        examples=["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"],
        description="The S256 challenge (RFC 7636) for a verifier kept by the front end; not in cookie mode.",
    ),
]


class SignInProvider(Schema):
    """A sign-in provider, with its name on pages."""

    name: Annotated[str, Meta(examples=["entra"])]
    title: Annotated[str, Meta(examples=["Example Inc."])]


ProviderName = Annotated[str, Meta(max_length=32, examples=["entra"])]


class SignInProviders(Schema):
    """All providers, in the order of the settings."""

    items: list[SignInProvider]


class StartQuery(Schema):
    """Where to go after the sign-in, and what binds it to a front end."""

    next: NextPlace
    challenge: Challenge | None = None
    device: Device | None = None


class CallbackQuery(ProtocolSchema):
    """What a provider sends back (RFC 6749 §4.1.2, RFC 9207); other parameters are ignored."""

    state: Annotated[str, Meta(max_length=512, examples=["uSQ3…"])]
    code: Annotated[str, Meta(max_length=4096, examples=["SplxlO…"])] | None = None
    iss: Annotated[str, Meta(max_length=1024, examples=["https://login.example.com"])] | None = None
    error: Annotated[str, Meta(max_length=256, examples=["access_denied"])] | None = None


class CodeOrder(Schema):
    """The code of a sign-in, and the verifier kept by the front end."""

    code: Annotated[str, Meta(min_length=1, max_length=128)]
    verifier: Annotated[str, Meta(min_length=43, max_length=128)]


class ProviderList(Endpoint[ProviderSignIn], at="/api/auth/oidc"):
    @public(name="listSignInProviders")
    async def on_get(self, context: RequestContext) -> SignInProviders:
        """List the sign-in providers."""
        return SignInProviders([SignInProvider(*each) for each in self.part.names()])


class InBrowser(Responders):
    """The base of the endpoints that browsers are sent through."""

    def __init__(self, sign_in: ProviderSignIn, cookies: Cookies) -> None:
        self._sign_in = sign_in
        self._cookies = cookies

    async def begin(
        self, context: RequestContext, provider: str, next_: str, device: str, **options: Any
    ) -> Beginning:
        """Begin a sign-in, and bind it to the browser; ``options`` are those of ``ProviderSignIn.begin``."""
        begun = await self._sign_in.begin(
            provider, next_, device, context.address, in_cookies=self._cookies.on, **options
        )
        if begun.binding:
            self._cookies.bind(context, begun.binding, BEGUN_LIFE)
        return begun


class SignInStart(InBrowser, at="/api/auth/oidc/{provider}/start"):
    @public(name="startSignIn", refuses=[NotFound, RateLimited])
    @in_browser
    @sends(HTML)
    async def on_get(self, context: RequestContext, query: StartQuery, provider: ProviderName) -> Stream:
        """Send the browser to a provider to sign in."""
        device = query.device or device_from(context.user_agent)
        begun = await self.begin(context, provider, query.next, device, challenge=query.challenge)
        return _to(begun.url)


class SignInCallback(InBrowser, at="/api/auth/oidc/{provider}/callback"):
    @public(name="endSignIn", refuses=[NotFound, SignInFailed, SecondFactorRequired, *SESSION_REFUSALS])
    @writes("return from a provider", "LOGIN", keeps="nothing")
    @in_browser
    @sends(HTML)
    async def on_get(self, context: RequestContext, query: CallbackQuery, provider: ProviderName) -> Stream:
        """Receive the browser from the provider, and redirect it.

        A front end gets a `code` in the query of `next`, for `POST /api/auth/oidc/token`. In cookie mode the
        session is open, and a page of this service redirects, so that strict cookies are sent. Users who need
        a second factor of this service are redirected to the console's page for it. A refusal is a page too,
        unless the client accepts JSON.
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
        if not self._cookies.on:
            return _to(returned.next)
        self._cookies.bind(context, "", 0)
        if returned.pair is not None:
            self._cookies.set(context, returned.pair)
        return lead_on(context, returned.next)


class SignInToken(Responders, at="/api/auth/oidc/token"):
    def __init__(self, sign_in: ProviderSignIn, cookies: Cookies) -> None:
        self._sign_in = sign_in
        self._cookies = cookies

    @public(name="issueSignInTokens", refuses=[SignInFailed, SecondFactorRequired, *SESSION_REFUSALS])
    @opens_session(
        "sign in with a provider",
        example={"code": "n4Qp…", "verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"},
    )
    async def on_post(self, context: RequestContext, body: CodeOrder) -> TokenPair:
        """Exchange the code of a sign-in for the tokens of a new session.

        The code is valid once, for 60 seconds, with the verifier of the challenge that began the sign-in.
        """
        self._cookies.check_source(context.request)
        pair = await self._sign_in.redeem(body.code, body.verifier, context.address, context.user_agent)
        return handed(pair, context, self._cookies)


def _to(url: str) -> Stream:
    return Stream(nothing(), HTML, {"Location": url, "Referrer-Policy": "no-referrer"}, length=0, status=303)
