"""Endpoints of mailed links; tokens are sent in bodies, never in paths."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from service.administration.own_credentials import OwnCredentials
from service.endpoints.profile import CurrentPassword
from service.endpoints.record_endpoints import Endpoint
from service.endpoints.users import NewPassword, UserName
from service.errors import (
    Conflict,
    LinkInvalid,
    LoginFailed,
    MailNotConfigured,
    NotFound,
    RateLimited,
    SecondFactorRequired,
)
from service.features.account_links.addresses import Addresses
from service.features.account_links.forgotten_passwords import ForgottenPasswords
from service.features.account_links.invitations import Invitations
from service.features.account_links.links import Link
from service.features.account_links.session_ending import SessionEnding
from service.features.second_factors.challenge_bodies import Code, Credential, Expiry, PublicKey, answer_in
from service.web.messages import operation_metadata as operation
from service.web.messages.context import RequestContext
from service.web.messages.schema import Moment, Schema, moment

_NO_KEYS: Final = "a link is good once, and is never kept in an answer"

LinkToken = Annotated[
    str, Meta(min_length=1, max_length=128, description="The token of the link.", examples=["uSQ3…"])
]


class SentLink(Schema, omit_defaults=True):
    """When the link ends. It was mailed, and then is `sent`; else its `url` is to be handed over."""

    expires_at: Moment
    sent: bool = False
    url: str | None = None


def _sent(link: Link) -> SentLink:
    """Return the answer about a link; the answer contains the link only if no mail was sent."""
    ends = moment(link.expires_time)
    return SentLink(ends, sent=True) if link.mailed else SentLink(ends, url=link.url)


class FirstPassword(Schema):
    """The token of an invitation, and the password to set."""

    token: LinkToken
    password: NewPassword


class ResetRequest(Schema):
    """Whose password is forgotten."""

    user_name: UserName


class LinkOrder(Schema):
    """The token of a link."""

    token: LinkToken


class ResetOptions(Schema):
    """How the owner of a link proves a second factor: no methods, or no `publicKey`, for who has none."""

    methods: list[Literal["totp", "recovery_code", "passkey"]]
    public_key: PublicKey | None
    expires_in: Expiry


class NewPasswordByLink(FirstPassword, kw_only=True):
    """The token of a link, the password to set, and the second factor of who has one."""

    method: Literal["totp", "recovery_code", "passkey"] | None = None
    code: Code | None = None
    credential: Credential | None = None


class UserInvitation(Endpoint[Invitations]):
    """``/api/user/{id}/invitation``."""

    @operation.needs("system:user:create")
    @operation.logged("user", "invite", "UPDATE", response=False)
    @operation.refuses(NotFound, Conflict)
    @operation.named("inviteUser")
    @operation.refuses_keys(_NO_KEYS)
    async def on_post(self, context: RequestContext, id: int) -> SentLink:
        """Invite a user who has no password yet; the invitation before ends.

        The link is mailed to the user; where no mail is configured, the answer has it, to be handed over.
        Callers can't invite users who hold more permissions than they do.
        """
        return _sent(await self.part.invite(context.user, id))


class OwnInvitation(Endpoint[Invitations]):
    """``/api/auth/invitation``."""

    @operation.public
    @operation.logged("auth", "accept an invitation", "UPDATE", params=False, response=False)
    @operation.refuses(LinkInvalid, NotFound, Conflict, RateLimited)
    @operation.example_body({"token": "uSQ3…", "password": "five wary herons"})
    @operation.answers(204)
    @operation.named("acceptInvitation")
    @operation.refuses_keys(_NO_KEYS)
    async def on_post(self, context: RequestContext, body: FirstPassword) -> None:
        """Set the first password of the account that an invitation is for. Opens no session.

        A refused password leaves the invitation as it is.
        """
        await self.part.accept(body.token, body.password, context.address)


class UserPasswordReset(Endpoint[ForgottenPasswords]):
    """``/api/user/{id}/password-reset``."""

    @operation.needs("system:user:reset-password")
    @operation.logged("user", "send a link to reset a password", "UPDATE")
    @operation.refuses(NotFound, Conflict, MailNotConfigured)
    @operation.named("startUserPasswordReset")
    @operation.refuses_keys(_NO_KEYS)
    async def on_post(self, context: RequestContext, id: int) -> SentLink:
        """Mail a link to a user by which they set another password; the link before ends.

        It goes to the address that the user has confirmed, and callers never see it. They can't do it for
        users who hold more permissions than they do.
        """
        return _sent(await self.part.start(context.user, id))


class OwnPasswordReset(Endpoint[ForgottenPasswords]):
    """``/api/auth/password-reset``."""

    @operation.public
    @operation.logged("auth", "ask for a link to reset a password", "UPDATE", params=False, response=False)
    @operation.refuses(MailNotConfigured, RateLimited)
    @operation.example_body({"userName": "heron"})
    @operation.answers(202)
    @operation.named("requestPasswordReset")
    @operation.refuses_keys(_NO_KEYS)
    async def on_post(self, context: RequestContext, body: ResetRequest) -> None:
        """Ask for a link by which somebody sets another password.

        The answer is the same whether or not there is such a user. Who is enabled and not banned, has a
        password and has confirmed an address gets a mail, at most every 20 minutes: the link before stays.
        """
        await self.part.request(body.user_name, context.address)


class OwnResetOptions(Endpoint[ForgottenPasswords]):
    """``/api/auth/password-reset/options``."""

    @operation.public
    @operation.asks
    @operation.refuses(LinkInvalid, RateLimited)
    @operation.example_body({"token": "uSQ3…"})
    @operation.named("getPasswordResetOptions")
    async def on_post(self, context: RequestContext, body: LinkOrder) -> ResetOptions:
        """Read which second factors the owner of a link has, and the options for a passkey."""
        return ResetOptions(**await self.part.options(body.token, context.address))


class OwnResetConfirmation(Endpoint[ForgottenPasswords]):
    """``/api/auth/password-reset/confirm``."""

    @operation.public
    @operation.logged("auth", "reset a password by a link", "UPDATE", params=False, response=False)
    @operation.refuses(LinkInvalid, LoginFailed, SecondFactorRequired, NotFound, Conflict, RateLimited)
    @operation.example_body(
        {"token": "uSQ3…", "password": "five wary herons", "method": "totp", "code": "287082"}
    )
    @operation.answers(204)
    @operation.named("confirmPasswordReset")
    @operation.refuses_keys(_NO_KEYS)
    async def on_post(self, context: RequestContext, body: NewPasswordByLink) -> None:
        """Set another password by a link, and end all sessions; none is opened.

        Who has a second factor proves it too: without one it is refused as `second_factor_required`, with the
        `methods`. A wrong one leaves the link, five end it. Bans and second factors stay as they are.
        """
        answer = None if body.method is None else answer_in(body.method, body.code, body.credential)
        await self.part.confirm(body.token, body.password, answer, context.address, context.user_agent)


class OwnAddress(Endpoint[Addresses]):
    """``/api/auth/address``."""

    @operation.public
    @operation.logged("auth", "confirm an address", "UPDATE", params=False, response=False)
    @operation.refuses(LinkInvalid, RateLimited)
    @operation.example_body({"token": "uSQ3…"})
    @operation.answers(204)
    @operation.named("confirmAddress")
    @operation.refuses_keys(_NO_KEYS)
    async def on_post(self, context: RequestContext, body: LinkOrder) -> None:
        """Confirm the address that a link was mailed to: it becomes the one for recovery.

        An address that somebody else has set becomes it once the owner has agreed, in the profile.
        """
        await self.part.confirm(body.token, context.address)


class AddressUndo(Endpoint[Addresses]):
    """``/api/auth/address/undo``."""

    @operation.public
    @operation.logged("auth", "undo a change of an address", "UPDATE", params=False, response=False)
    @operation.refuses(LinkInvalid, RateLimited)
    @operation.example_body({"token": "uSQ3…"})
    @operation.answers(204)
    @operation.named("restoreAddress")
    @operation.refuses_keys(_NO_KEYS)
    async def on_post(self, context: RequestContext, body: LinkOrder) -> None:
        """Bring back the address that a link was mailed to, within a day after the change. Ends all sessions.

        It is the one for recovery again.
        """
        await self.part.undo(body.token, context.address)


class Agreement(Schema):
    """The address that is agreed to, and the current password; who has none proves a second factor before."""

    email: Annotated[str, Meta(max_length=254, examples=["heron@example.org"])]
    current_password: CurrentPassword | None = None


class OwnAgreement:
    """``/api/user/profile/email/agreement``."""

    def __init__(self, addresses: Addresses, own: OwnCredentials) -> None:
        self._addresses = addresses
        self._own = own

    @operation.login
    @operation.logged("user", "agree to the own address", "UPDATE")
    @operation.refuses(Conflict, RateLimited)
    @operation.example_body({"email": "heron@example.org", "currentPassword": "your current one"})
    @operation.answers(204)
    @operation.named("acceptOwnEmail")
    @operation.refuses_keys("sent again, it changes nothing more")
    async def on_post(self, context: RequestContext, body: Agreement) -> None:
        """Agree to the caller's own address, which somebody else may have set.

        Once a link that was mailed to it was opened too, links for a forgotten password go there.
        """
        client = {"address": context.address, "user_agent": context.user_agent}
        await self._own.prove(context.user, body.current_password, **client)
        await self._addresses.agree(context.user, body.email)


class OwnVerification(Endpoint[Addresses]):
    """``/api/user/profile/email/verification``."""

    @operation.login
    @operation.logged("user", "ask for a link to confirm the own address", "UPDATE")
    @operation.refuses(Conflict, MailNotConfigured, RateLimited)
    @operation.answers(202)
    @operation.named("requestOwnEmailVerification")
    @operation.refuses_keys(_NO_KEYS)
    async def on_post(self, context: RequestContext) -> None:
        """Have a link mailed that confirms the caller's own address; at most ten an hour."""
        await self.part.ask(context.user)


class UserVerification(Endpoint[Addresses]):
    """``/api/user/{id}/email/verification``."""

    @operation.needs("system:user:verify")
    @operation.logged("user", "declare an address confirmed", "UPDATE")
    @operation.refuses(NotFound, Conflict)
    @operation.answers(204)
    @operation.named("verifyUserEmail")
    @operation.refuses_keys("sent again, it changes nothing more")
    async def on_post(self, context: RequestContext, id: int) -> None:
        """Declare the address of a user confirmed; the user is told by mail.

        Links for a forgotten password go there from then on. Callers can't do it for users who hold more
        permissions than they do, nor for themselves.
        """
        await self.part.verify(context.user, id)


class SessionsByLink(Endpoint[SessionEnding]):
    """``/api/auth/sessions/end``."""

    @operation.public
    @operation.logged("auth", "end all sessions by a link", "LOGOUT", params=False, response=False)
    @operation.refuses(LinkInvalid, RateLimited)
    @operation.example_body({"token": "uSQ3…"})
    @operation.answers(204)
    @operation.named("endSessionsByLink")
    @operation.refuses_keys("a link is good once")
    async def on_post(self, context: RequestContext, body: LinkOrder) -> None:
        """End all sessions of the account whose owner was mailed the link. API keys stay."""
        await self.part.end(body.token, context.address)
