"""Endpoints of mailed links; tokens are sent in bodies, never in paths."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, TypeVar

from msgspec import Meta

from service.administration.own_credentials import OwnCredentials
from service.authn.second_factors import Method
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
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, asks, by_session, login, needs, public, writes
from service.web.messages.schema import Moment, Schema, moment

F = TypeVar("F", bound=Callable[..., Any])
_NO_KEYS: Final = "a link works once, and is never kept in an answer"


def _by_link(action: str, example: Mapping[str, Any]) -> Callable[[F], F]:
    """Declare a write by the token of a link, without an answer; its log entry keeps nothing."""
    return writes(action, "UPDATE", keeps="nothing", example=example, answers=204, refuses_keys=_NO_KEYS)


LinkToken = Annotated[
    str, Meta(min_length=1, max_length=128, description="The token of the link.", examples=["uSQ3…"])
]


class SentLink(Schema, omit_defaults=True):
    """The expiry of the link. `sent` is true for a mailed link; otherwise the caller passes on its `url`."""

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
    """The user who forgot the password."""

    user_name: UserName


class LinkOrder(Schema):
    """The token of a link."""

    token: LinkToken


class ResetOptions(Schema):
    """The second factors of the owner of a link: `methods` may be empty, `publicKey` may be null."""

    methods: list[Method]
    public_key: PublicKey | None
    expires_in: Expiry


class NewPasswordByLink(FirstPassword, kw_only=True):
    """The token of a link, the new password, and the proof of a second factor if the user has one."""

    method: Method | None = None
    code: Code | None = None
    credential: Credential | None = None


class UserInvitation(Endpoint[Invitations], at="/api/user/{id}/invitation"):
    @needs("system:user:create", name="inviteUser", refuses=[NotFound, Conflict])
    @writes("invite", "UPDATE", keeps="params", refuses_keys=_NO_KEYS)
    async def on_post(self, context: RequestContext, id: int) -> SentLink:
        """Invite a user without a password; an earlier invitation expires.

        The link is mailed to the user. If no mail is configured, the answer has the link, for the caller to
        pass on. Callers can't invite users with more permissions than their own.
        """
        return _sent(await self.part.invite(context.user, id))


class OwnInvitation(Endpoint[Invitations], at="/api/auth/invitation"):
    @public(name="acceptInvitation", refuses=[LinkInvalid, NotFound, Conflict, RateLimited])
    @_by_link("accept an invitation", {"token": "uSQ3…", "password": "five wary herons"})
    async def on_post(self, context: RequestContext, body: FirstPassword) -> None:
        """Set the first password of an invited account; no session is opened.

        The invitation stays valid if the password is refused.
        """
        await self.part.accept(body.token, body.password, context.address)


class UserPasswordReset(Endpoint[ForgottenPasswords], at="/api/user/{id}/password-reset"):
    @needs(
        "system:user:reset-password",
        name="startUserPasswordReset",
        refuses=[NotFound, Conflict, MailNotConfigured],
    )
    @writes("send a link to reset a password", "UPDATE", refuses_keys=_NO_KEYS)
    async def on_post(self, context: RequestContext, id: int) -> SentLink:
        """Mail a link for setting a new password to a user; an earlier link expires.

        The link goes to the confirmed address of the user; callers never see it. Callers can't send links to
        users with more permissions than their own.
        """
        return _sent(await self.part.start(context.user, id))


class OwnPasswordReset(Endpoint[ForgottenPasswords], at="/api/auth/password-reset"):
    @public(name="requestPasswordReset", refuses=[MailNotConfigured, RateLimited])
    @writes(
        "ask for a link to reset a password",
        "UPDATE",
        keeps="nothing",
        example={"userName": "heron"},
        answers=202,
        refuses_keys=_NO_KEYS,
    )
    async def on_post(self, context: RequestContext, body: ResetRequest) -> None:
        """Request a link for setting a new password.

        The answer does not depend on the existence of the user. Enabled users with a password, a confirmed
        address and no ban get a mail, at most every 20 minutes. An earlier link stays valid.
        """
        await self.part.request(body.user_name, context.address)


class OwnResetOptions(Endpoint[ForgottenPasswords], at="/api/auth/password-reset/options"):
    @public(name="getPasswordResetOptions", refuses=[LinkInvalid, RateLimited])
    @asks(example={"token": "uSQ3…"})
    async def on_post(self, context: RequestContext, body: LinkOrder) -> ResetOptions:
        """Read the second factors of the owner of a link, and the options for a passkey."""
        return ResetOptions(**await self.part.options(body.token, context.address))


class OwnResetConfirmation(Endpoint[ForgottenPasswords], at="/api/auth/password-reset/confirm"):
    @public(
        name="confirmPasswordReset",
        refuses=[LinkInvalid, LoginFailed, SecondFactorRequired, NotFound, Conflict, RateLimited],
    )
    @_by_link(
        "reset a password by a link",
        {"token": "uSQ3…", "password": "five wary herons", "method": "totp", "code": "287082"},
    )
    async def on_post(self, context: RequestContext, body: NewPasswordByLink) -> None:
        """Set a new password by a link, and end all sessions; no session is opened.

        A user with a second factor must also prove it: otherwise the request is refused as
        `second_factor_required`, with the `methods`. Five wrong proofs invalidate the link. Bans and second
        factors stay.
        """
        answer = None if body.method is None else answer_in(body.method, body.code, body.credential)
        await self.part.confirm(body.token, body.password, answer, context.address, context.user_agent)


class OwnAddress(Endpoint[Addresses], at="/api/auth/address"):
    @public(name="confirmAddress", refuses=[LinkInvalid, RateLimited])
    @_by_link("confirm an address", {"token": "uSQ3…"})
    async def on_post(self, context: RequestContext, body: LinkOrder) -> None:
        """Confirm the address of a mailed link: it becomes the one for recovery.

        An address set by another user also needs the owner's agreement, in the profile.
        """
        await self.part.confirm(body.token, context.address)


class AddressUndo(Endpoint[Addresses], at="/api/auth/address/undo"):
    @public(name="restoreAddress", refuses=[LinkInvalid, RateLimited])
    @_by_link("undo a change of an address", {"token": "uSQ3…"})
    async def on_post(self, context: RequestContext, body: LinkOrder) -> None:
        """Restore the address of a mailed link, within a day after the change; all sessions end.

        The address is again the one for recovery.
        """
        await self.part.undo(body.token, context.address)


class Agreement(Schema):
    """The address to agree to, and the current password; without one, prove a second factor before."""

    email: Annotated[str, Meta(max_length=254, examples=["heron@example.org"])]
    current_password: CurrentPassword | None = None


class OwnAgreement(Responders, at="/api/user/profile/email/agreement"):
    def __init__(self, addresses: Addresses, own: OwnCredentials) -> None:
        self._addresses = addresses
        self._own = own

    @login(name="acceptOwnEmail", refuses=[Conflict, RateLimited])
    @by_session("change-credentials")
    @writes(
        "agree to the own address",
        "UPDATE",
        example={"email": "heron@example.org", "currentPassword": "your current one"},
        answers=204,
        refuses_keys="a repeated request changes nothing",
    )
    async def on_post(self, context: RequestContext, body: Agreement) -> None:
        """Agree to the caller's own address, if another user has set it.

        After a mailed link was opened too, links for a forgotten password go to this address.
        """
        client = {"address": context.address, "user_agent": context.user_agent}
        await self._own.prove(context.user, body.current_password, **client)
        await self._addresses.agree(context.user, body.email)


class OwnVerification(Endpoint[Addresses], at="/api/user/profile/email/verification"):
    @login(name="requestOwnEmailVerification", refuses=[Conflict, MailNotConfigured, RateLimited])
    @by_session("verify-address")
    @writes("ask for a link to confirm the own address", "UPDATE", answers=202, refuses_keys=_NO_KEYS)
    async def on_post(self, context: RequestContext) -> None:
        """Request a link that confirms the caller's own address; at most ten in an hour."""
        await self.part.ask(context.user)


class UserVerification(Endpoint[Addresses], at="/api/user/{id}/email/verification"):
    @needs("system:user:verify", name="verifyUserEmail", refuses=[NotFound, Conflict])
    @writes(
        "declare an address confirmed",
        "UPDATE",
        answers=204,
        refuses_keys="a repeated request changes nothing",
    )
    async def on_post(self, context: RequestContext, id: int) -> None:
        """Declare the address of a user confirmed; the user gets a mail.

        Links for a forgotten password go to this address from then on. Callers can't confirm addresses of
        users with more permissions than their own, nor their own here.
        """
        await self.part.verify(context.user, id)


class SessionsByLink(Endpoint[SessionEnding], at="/api/auth/sessions/end"):
    @public(name="endSessionsByLink", refuses=[LinkInvalid, RateLimited])
    @writes(
        "end all sessions by a link",
        "LOGOUT",
        keeps="nothing",
        example={"token": "uSQ3…"},
        answers=204,
        refuses_keys="a link works once",
    )
    async def on_post(self, context: RequestContext, body: LinkOrder) -> None:
        """End all sessions of an account by a mailed link, and delete the owner's API keys."""
        await self.part.end(body.token, context.address)
