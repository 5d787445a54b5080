"""Links of accounts with a provider, by their owners or by administrators; step-up at a provider."""

from typing import Annotated, Any

from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.endpoints.users import UserName
from service.errors import Conflict, NotFound, RateLimited
from service.features.oidc.accounts import Purpose
from service.features.oidc.api_sign_in import Challenge, InBrowser, NextPlace, ProviderName
from service.features.oidc.handover import Handover
from service.kernel.assurance import Acr
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import asks, by_session, login, needs, writes
from service.web.messages.schema import Schema


class ProviderLinkOrder(Schema):
    """The target after linking the account, and the challenge that binds the request to a front end."""

    next: NextPlace
    challenge: Challenge | None = None


class ProviderStepUp(ProviderLinkOrder):
    """The demanded authentication at the provider, and its maximum age in seconds."""

    acr: Annotated[Acr, Meta(description="The authentication that the session needs.")] = "pwd"
    max_age: Annotated[int, Meta(ge=0, le=86_400, examples=[300])] = 300


class SignInPlace(Schema):
    """The sign-in URL for the browser."""

    url: Annotated[str, Meta(examples=["https://login.example.com/authorize?client_id=portcullis"])]


class HandoverOrder(Schema):
    """The account to hand over, and the `sub` of the person at the provider."""

    user_name: UserName
    subject: Annotated[str, Meta(min_length=1, max_length=255, examples=["00u1a2b3c4"])]


class _ForCaller(InBrowser):
    async def lead(
        self,
        context: RequestContext,
        body: ProviderLinkOrder,
        provider: str,
        purpose: Purpose,
        **options: Any,
    ) -> SignInPlace:
        """Begin a sign-in of the caller on the caller's device; return its URL."""
        caller = context.user
        options |= {"caller": caller, "purpose": purpose, "challenge": body.challenge}
        return SignInPlace((await self.begin(context, provider, body.next, caller.device, **options)).url)


class AccountLink(_ForCaller, at="/api/auth/oidc/{provider}/link"):
    @login(name="startProviderLink", refuses=[NotFound, Conflict, RateLimited])
    @by_session("change-factors")
    @writes(
        "link an account of a provider",
        "UPDATE",
        keeps="nothing",
        example={"next": "/console", "challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"},
    )
    async def on_post(
        self, context: RequestContext, body: ProviderLinkOrder, provider: ProviderName
    ) -> SignInPlace:
        """Begin to link the caller's account with one of a provider; the answer has the sign-in URL.

        The demands are those of a new second factor. The login at the provider must be recent too. The
        sign-in opens a new session.
        """
        return await self.lead(context, body, provider, "link")


class StepUpAtProvider(_ForCaller, at="/api/auth/oidc/{provider}/step-up"):
    @login(name="stepUpAtProvider", refuses=[NotFound, Conflict, RateLimited])
    @by_session("step-up")
    @asks(
        example={"next": "/console", "challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "acr": "mfa"}
    )
    async def on_post(
        self, context: RequestContext, body: ProviderStepUp, provider: ProviderName
    ) -> SignInPlace:
        """Begin to authenticate again or more strongly at a provider; the answer has the sign-in URL.

        The sign-in opens a session that replaces the caller's session.
        """
        acr = None if body.acr == "pwd" else body.acr
        return await self.lead(context, body, provider, "step-up", acr=acr, max_age=body.max_age)


class AccountHandover(Endpoint[Handover], at="/api/auth/oidc/{provider}/accounts"):
    @needs("system:user:reset-password", name="assignAccountToProvider", refuses=[NotFound, Conflict])
    @by_session("set-password")
    @writes(
        "hand over to a provider",
        "UPDATE",
        module="user",
        example={"userName": "nobody", "subject": "00u1a2b3c4"},
        answers=204,
    )
    async def on_post(self, context: RequestContext, body: HandoverOrder, provider: ProviderName) -> None:
        """Link an account with a subject of a provider, which allows sign-ins by this subject.

        The owner gets a mail. Callers can't link users with more permissions than their own, nor themselves.
        With `allow_password = false`, the password of the account becomes useless for logins.
        """
        await self.part.hand_over(context.write, provider, body.user_name, body.subject)
