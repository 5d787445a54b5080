"""The links that owners of accounts are sent: a token of 256 bits in a fragment, which no server is sent."""

import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Final

from service.administration import change_log
from service.administration.delegation import Delegation
from service.administration.events import BEFORE_ACCOUNT_EDIT
from service.authn.login_log import LoginLog
from service.authn.password_change import PasswordChange
from service.authn.revocations import Revocations
from service.authn.throttle import Throttle
from service.errors import Conflict, LinkInvalid, MailNotConfigured
from service.kernel.identity import Caller, Target, owner
from service.kernel.notify import Mailer, NoticeLink
from service.records import account_tokens, accounts, address_undos, user_list
from service.records.account_tokens import Purpose
from service.records.accounts import Credentials
from service.records.database.transactions import Connection, Database

_BYTES: Final = 32
_PAGES: Final[dict[Purpose, str]] = {
    "invitation": "invitation",
    "password_reset": "password-reset",
    "address": "address",
    "end_sessions": "end-sessions",
}
"""The page of the console that each link leads to."""
_LETTERS: Final[dict[Purpose, str]] = {
    "invitation": "invitation",
    "password_reset": "password_reset",
    "address": "address_confirmation",
}
"""The kind of letter that brings each link."""


@dataclass(frozen=True, slots=True)
class Link:
    """A new link: its address, and when it ends; ``mailed`` if it is on its way to the owner."""

    url: str = field(repr=False)
    expires_time: datetime
    mailed: bool = False


class AccountLinks:
    """Makes links, and mails them. They begin with ``server.public_url``, whatever host a request names."""

    def __init__(self, mailer: Mailer, public_url: str, seconds: int) -> None:
        """Links are good for so many ``seconds``."""
        self._mailer = mailer
        self._public_url = public_url
        self._seconds = seconds

    @property
    def by_mail(self) -> bool:
        """True if links can be mailed."""
        return self._mailer.enabled

    def require_mail(self) -> None:
        """Return if links can be mailed; raises ``MailNotConfigured``."""
        if not self.by_mail:
            raise MailNotConfigured

    async def make(
        self,
        connection: Connection,
        purpose: Purpose,
        user_id: int,
        *,
        email: str | None,
        created_by: int | None = None,
    ) -> Link:
        """Return a new link for an account; the one before of its purpose ends.

        ``email`` is the address that it is mailed to. Without ``server.public_url`` the link is a path.
        """
        token = secrets.token_urlsafe(_BYTES)
        ends = await account_tokens.put(
            connection,
            purpose,
            user_id,
            digest_of(token),
            email=email,
            seconds=self._seconds,
            created_by=created_by,
        )
        return Link(self._address(f"/console#/{_PAGES[purpose]}?token={token}"), ends)

    async def of_notice(
        self, connection: Connection, purpose: NoticeLink, user_id: int, *, email: str
    ) -> Link:
        """Return a new link of a notice that is mailed to ``email``; several may be good at a time."""
        if purpose == "end_sessions":
            return await self.make(connection, purpose, user_id, email=email)
        token = secrets.token_urlsafe(_BYTES)
        ends = await address_undos.put(connection, user_id, digest_of(token), email)
        return Link(self._address(f"/console#/address-undo?token={token}"), ends)

    async def mail(
        self,
        connection: Connection,
        purpose: Purpose,
        user_id: int,
        user_name: str,
        email: str,
        *,
        created_by: int | None = None,
    ) -> Link:
        """Mail a new link to ``email``, and return it; the one before of its purpose ends."""
        link = await self.make(connection, purpose, user_id, email=email, created_by=created_by)
        facts: dict[str, str | datetime] = {"user_name": user_name, "until": link.expires_time}
        await self._mailer.mail(connection, _LETTERS[purpose], email, user_id, facts=facts, link=link.url)
        return replace(link, mailed=True)

    def _address(self, path_and_fragment: str) -> str:
        return self._public_url + path_and_fragment


def digest_of(token: str) -> bytes:
    """Return the digest by which a token is known; of any text that a client sends."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


class SessionEnding:
    """Ends the sessions of the owner of a link, once; it tells nothing about the owner."""

    def __init__(
        self, database: Database, revocations: Revocations, throttle: Throttle, log: LoginLog
    ) -> None:
        self._database = database
        self._revocations = revocations
        self._throttle = throttle
        self._entries = log

    async def end(self, token: str, address: str) -> None:
        """End all sessions of the user who was sent ``token``, for a client at ``address``.

        They end before the commit, so that the link is not spent while the session store is unavailable, and
        again after it. Raises ``LinkInvalid``, ``RateLimited`` and ``Unavailable``.
        """
        await self._throttle.from_address(address)
        async with self._database.transaction() as connection:
            spent = await account_tokens.spend(connection, "end_sessions", digest_of(token))
            if spent is None:
                raise LinkInvalid
            change_log.concerns(change_log.user_target(spent.user_name))
            target = owner(spent.user_id)
            await self._revocations.end_sessions_first(target)
        await self._revocations.end_sessions(target)
        self._entries.own("logout_all", spent.user_id, spent.user_name, None, reason="link")


class Invitations:
    """Invites users who hold no more than the caller, and takes the first passwords of those invited."""

    def __init__(
        self,
        *,
        database: Database,
        delegation: Delegation,
        links: AccountLinks,
        passwords: PasswordChange,
        throttle: Throttle,
    ) -> None:
        self._database = database
        self._delegation = delegation
        self._links = links
        self._passwords = passwords
        self._throttle = throttle

    async def invite(self, caller: Caller, user_id: int) -> Link:
        """Return a link by which a user sets the first password, mailed if mail is; the one before ends.

        Raises ``NotFound``, ``PermissionDenied`` if the user holds a code that the caller lacks, ``Conflict``
        for a user who has a password, for a service account, and for who has no address for the mail, and
        ``Unavailable``.
        """
        async with self._database.transaction() as connection:
            check = await self._delegation.check(connection, caller)
            user = await user_list.read(connection, user_id)
            change_log.concerns(change_log.user_target(user.user_name))
            await check.target(connection, user_id, "invite")
            await BEFORE_ACCOUNT_EDIT.tell(connection, user_id, check.directory)
            if not user.invited:
                raise Conflict("Only a person who has no password yet is invited", rule="has_password")
            by = {"created_by": check.acting_id}
            if not self._links.by_mail:
                # The caller sees the link. To who has made the account it is what the first password is.
                own = check.acting_id == await accounts.maker(connection, user_id)
                await check.take_over(connection, [user_id], "made" if own else "link")
                return await self._links.make(connection, "invitation", user_id, email=None, **by)
            if user.email is None:
                raise Conflict("The user has no email address to be invited at", rule="confirmed_address")
            return await self._links.mail(connection, "invitation", user_id, user.user_name, user.email, **by)

    async def accept(self, token: str, password: str, address: str) -> None:
        """Set the first password of the user who was sent ``token``, from the client at ``address``.

        The address that the invitation was mailed to is then confirmed. Raises ``LinkInvalid``,
        ``ValidationFailed`` for ``password``, ``RateLimited`` and ``Unavailable``.
        """
        await self._throttle.from_address(address)
        digest = digest_of(token)

        async def find(connection: Connection) -> Target:
            good = await account_tokens.find(connection, "invitation", digest)
            if good is None:
                raise LinkInvalid
            change_log.concerns(change_log.user_target(good.user_name))
            return owner(good.user_id)

        async def spend(connection: Connection) -> Target:
            spent = await account_tokens.spend(connection, "invitation", digest)
            if spent is None:
                raise LinkInvalid
            if spent.email is not None:
                # Who sets the first password by a link that was mailed there agrees to the address.
                await accounts.confirm_address(connection, spent.user_id, spent.email)
            return owner(spent.user_id)

        await self._passwords.by_link(password, find, spend, _nothing_more, "invitation")


async def _nothing_more(_known: Credentials) -> None:
    """Accept the link as all the proof that there can be: nobody has logged in yet."""
