"""Links that owners of accounts are sent, and what they open: their tokens are in bodies, never in paths."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from service.administration.account_links import Link
from service.administration.invitations import Invitations
from service.endpoints.users import NewPassword
from service.errors import Conflict, LinkInvalid, NotFound, RateLimited
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import (
    answers,
    example_body,
    logged,
    named,
    needs,
    public,
    refuses,
    refuses_keys,
)
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
    """Return the answer about a link; the link itself only if it was not mailed."""
    ends = moment(link.expires_time)
    return SentLink(ends, sent=True) if link.mailed else SentLink(ends, url=link.url)


class FirstPassword(Schema):
    """The token of an invitation, and the password to set."""

    token: LinkToken
    password: NewPassword


class UserInvitation:
    """``/api/user/{id}/invitation``."""

    def __init__(self, invitations: Invitations) -> None:
        self._invitations = invitations

    @needs("system:user:create")
    @logged("user", "invite", "UPDATE", response=False)
    @refuses(NotFound, Conflict)
    @named("inviteUser")
    @refuses_keys(_NO_KEYS)
    async def on_post(self, context: RequestContext, id: int) -> SentLink:
        """Invite a user who has no password yet; the invitation before ends.

        The link is mailed to the user; where no mail is configured, the answer has it, to be handed over.
        Callers can't invite users who hold more permissions than they do.
        """
        return _sent(await self._invitations.invite(context.user, id))


class OwnInvitation:
    """``/api/auth/invitation``."""

    def __init__(self, invitations: Invitations) -> None:
        self._invitations = invitations

    @public
    @logged("auth", "accept an invitation", "UPDATE", params=False, response=False)
    @refuses(LinkInvalid, NotFound, Conflict, RateLimited)
    @example_body({"token": "uSQ3…", "password": "five wary herons"})
    @answers(204)
    @named("acceptInvitation")
    @refuses_keys(_NO_KEYS)
    async def on_post(self, context: RequestContext, body: FirstPassword) -> None:
        """Set the first password of the account that an invitation is for. Opens no session.

        A refused password leaves the invitation as it is.
        """
        await self._invitations.accept(body.token, body.password, context.address)
