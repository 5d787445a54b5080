"""The links that owners of accounts are sent: a token of 256 bits in a fragment, which no server is sent."""

import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Final

from service.authn.factors.sealing import FactorKeys
from service.errors import MailNotConfigured
from service.mail.letters import Letter
from service.mail.notices import Notices
from service.mail.outbox import Outbox
from service.records import account_tokens
from service.records.account_tokens import Purpose
from service.records.database.transactions import Connection
from service.settings import Settings

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

    def __init__(self, outbox: Outbox, seconds: int) -> None:
        """Links are good for so many ``seconds``."""
        self._outbox = outbox
        self._seconds = seconds

    @property
    def by_mail(self) -> bool:
        """True if links can be mailed."""
        return self._outbox.enabled

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
        return Link(self._outbox.link_to(f"/console#/{_PAGES[purpose]}?token={token}"), ends)

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
        await self._outbox.put(connection, Letter(_LETTERS[purpose], email, user_id, facts), link.url)
        return replace(link, mailed=True)


def notices_of(settings: Settings) -> Notices:
    """Return what tells users of their accounts in the installation of ``settings``."""
    outbox = Outbox(settings, FactorKeys.of(settings.auth))
    return Notices(outbox, AccountLinks(outbox, settings.auth.link_timeout))


def digest_of(token: str) -> bytes:
    """Return the digest by which a token is known; of any text that a client sends."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
