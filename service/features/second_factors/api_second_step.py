"""The second step of a login, the login by passkey, and step-up: below ``/api/auth``."""

from typing import Annotated, Literal

from msgspec import Meta

from service.authn.refresh import Refresh
from service.authn.second_factors import Method
from service.authn.token_issuer import TokenPair as Issued
from service.endpoints.record_endpoints import Endpoint
from service.endpoints.tokens import SESSION_REFUSALS, Device, TokenPair, handed, opens_session
from service.errors import (
    Conflict,
    LoginFailed,
    RateLimited,
    RefreshRequired,
    SecondFactorRequired,
    ValidationFailed,
)
from service.features.second_factors.challenge_bodies import Code, Credential, Expiry, PublicKey, answer_in
from service.features.second_factors.challenges import LIFE
from service.features.second_factors.logins import FactorLogins
from service.features.second_factors.sentences import sentence
from service.features.second_factors.step_up import StepUp
from service.web.messages.context import RequestContext
from service.web.messages.cookies import Cookies
from service.web.messages.operation_metadata import Responders, asks, by_session, login, public
from service.web.messages.schema import Schema

ChallengeText = Annotated[
    str, Meta(min_length=1, max_length=128, description="The challenge of the first step.")
]


StepUpMethod = Literal["password", "totp", "recovery_code", "passkey"]


class SecondFactor(Schema):
    """The challenge of the first step, and a second factor: a code, or the answer of a passkey."""

    challenge: ChallengeText
    method: Method
    code: Code | None = None
    credential: Credential | None = None


class FirstStep(Schema):
    """The challenge of the first step."""

    challenge: ChallengeText


class SecondFactorOptions(Schema):
    """The methods for answering a challenge; `publicKey` is null without a passkey."""

    methods: list[Method]
    public_key: PublicKey | None


class PasskeyLogin(Schema):
    """The answer of a passkey to the options, and the device of the session."""

    challenge: ChallengeText
    credential: Credential
    device: Annotated[Device, Meta(description="By default from the User-Agent.")] | None = None


class PasskeyLoginOptions(Schema):
    """The options for a login by passkey, and their `challenge`."""

    challenge: str
    public_key: PublicKey
    expires_in: Expiry


class StepUpOptions(Schema):
    """The methods for a step-up of the caller; `publicKey` is null without a passkey."""

    methods: list[StepUpMethod]
    public_key: PublicKey | None
    expires_in: Expiry


class StepUpOrder(Schema):
    """A proof of the caller's identity: a second factor, or the password of a caller without one."""

    method: StepUpMethod
    password: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    code: Code | None = None
    credential: Credential | None = None


class LoginSecondFactor(Responders, at="/api/auth/login/second-factor"):
    def __init__(self, attempts: FactorLogins, cookies: Cookies) -> None:
        self._attempts = attempts
        self._cookies = cookies

    @public(name="logInWithSecondFactor", refuses=[LoginFailed, *SESSION_REFUSALS])
    @opens_session("login, second step", example={"challenge": "uSQ3…", "method": "totp", "code": "287082"})
    async def on_post(self, context: RequestContext, body: SecondFactor) -> TokenPair:
        """Complete a login with a second factor.

        For a user with a second factor, a login with the right password is answered 401
        `second_factor_required` with a challenge. The challenge is valid for five minutes and five answers.
        """
        self._cookies.check_source(context.request)
        pair = await self._attempts.second_step(
            body.challenge,
            answer_in(body.method, body.code, body.credential),
            context.address,
            context.user_agent,
        )
        return handed(pair, context, self._cookies)


class LoginSecondFactorOptions(Endpoint[FactorLogins], at="/api/auth/login/second-factor/options"):
    @public(name="getSecondFactorOptions", refuses=[LoginFailed, RateLimited])
    @asks(example={"challenge": "uSQ3…"})
    async def on_post(self, context: RequestContext, body: FirstStep) -> SecondFactorOptions:
        """Read the possible proofs of a challenge, for a page that has only the challenge.

        A page needs this after the browser returns from a provider. The request counts as one of the five
        answers.
        """
        return SecondFactorOptions(**await self.part.options(body.challenge, context.address))


class LoginPasskeyOptions(Endpoint[FactorLogins], at="/api/auth/login/passkey/options"):
    @public(name="getPasskeyLoginOptions", refuses=[Conflict, RateLimited])
    @asks()
    async def on_post(self, context: RequestContext) -> PasskeyLoginOptions:
        """Begin a login by passkey alone, without a user name."""
        options = await self.part.passkey_options(context.address)
        return PasskeyLoginOptions(options["challenge"], options, LIFE)


class LoginPasskey(Responders, at="/api/auth/login/passkey"):
    def __init__(self, attempts: FactorLogins, cookies: Cookies) -> None:
        self._attempts = attempts
        self._cookies = cookies

    @public(name="logInWithPasskey", refuses=[LoginFailed, *SESSION_REFUSALS])
    @opens_session(
        "login by passkey", example={"challenge": "uSQ3…", "credential": {"id": "…", "type": "public-key"}}
    )
    async def on_post(self, context: RequestContext, body: PasskeyLogin) -> TokenPair:
        """Log in with a passkey alone.

        Opens a session for the device; it replaces an existing one of the user on that device.
        """
        self._cookies.check_source(context.request)
        pair = await self._attempts.by_passkey(
            body.challenge, body.credential, body.device, context.address, context.user_agent
        )
        return handed(pair, context, self._cookies)


class OwnStepUpOptions(Endpoint[StepUp], at="/api/auth/step-up/options"):
    @login(name="getStepUpOptions", refuses=[Conflict])
    @by_session("step-up")
    @asks()
    async def on_post(self, context: RequestContext) -> StepUpOptions:
        """Begin a step-up: read the caller's methods, and the options for a passkey."""
        return StepUpOptions(**await self.part.options(context.user))


class OwnStepUp(Responders, at="/api/auth/step-up"):
    def __init__(self, step_up: StepUp, refresh: Refresh, cookies: Cookies) -> None:
        self._step_up = step_up
        self._refresh = refresh
        self._cookies = cookies

    @login(name="stepUp", refuses=[LoginFailed, SecondFactorRequired, RefreshRequired, *SESSION_REFUSALS])
    @by_session("step-up")
    @opens_session("step up", example={"method": "totp", "code": "287082"})
    async def on_post(self, context: RequestContext, body: StepUpOrder) -> TokenPair:
        """Authenticate again or more strongly; the answer has new tokens of the same session.

        The claims `acr`, `amr` and `auth_time` describe this proof. A user with a second factor must prove
        it: a password alone is refused as `second_factor_required`. The former refresh token is spent.
        """
        pair = await self._proved(context, body)
        await self._refresh.hand_out(pair, context.request.is_gone)
        return handed(pair, context, self._cookies)

    async def _proved(self, context: RequestContext, body: StepUpOrder) -> Issued:
        client = context.address, context.user_agent
        if body.method == "password":
            if body.password is None:
                raise ValidationFailed(("password", sentence("missing")))
            return await self._step_up.by_password(context.user, body.password, *client)
        return await self._step_up.by_factor(
            context.user, answer_in(body.method, body.code, body.credential), *client
        )
