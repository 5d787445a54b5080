"""Links to account owners: each has a token of 256 bits in the URL fragment, which browsers do not send."""

import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Final

from service.errors import MailNotConfigured
from service.features.account_links import store_tokens as account_tokens
from service.features.account_links import store_undos as address_undos
from service.features.account_links.store_tokens import Purpose
from service.kernel.notify import Mailer, NoticeLink
from service.records.database.transactions import Connection
from service.settings import Settings

_BYTES: Final = 32
_PAGES: Final[dict[Purpose, str]] = {
    "invitation": "invitation",
    "password_reset": "password-reset",
    "address": "address",
    "end_sessions": "end-sessions",
}
"""The console page of each link."""
_LETTERS: Final[dict[Purpose, str]] = {
    "invitation": "invitation",
    "password_reset": "password_reset",
    "address": "address_confirmation",
}
"""The kind of mail of each link."""


@dataclass(frozen=True, slots=True)
class Link:
    """A new link: URL and expiry; ``mailed`` is true if it was queued as mail to the owner."""

    url: str = field(repr=False)
    expires_time: datetime
    mailed: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AccountLinks:
    """Creates and mails links. Links begin with ``server.public_url``, whatever host a request names."""

    mailer: Mailer
    public_url: str
    seconds: int
    """The lifetime of a link."""

    @property
    def by_mail(self) -> bool:
        return self.mailer.enabled

    def require_mail(self) -> None:
        """Raise ``MailNotConfigured`` if links cannot be mailed."""
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
        """Return a new link for an account; the former link of the same purpose expires.

        ``email`` is the address of the mail, or None. Without ``server.public_url``, the link is a path.
        """
        token = secrets.token_urlsafe(_BYTES)
        ends = await account_tokens.put(
            connection,
            purpose,
            user_id,
            digest_of(token),
            email=email,
            seconds=self.seconds,
            created_by=created_by,
        )
        return Link(self._address(f"/console#/{_PAGES[purpose]}?token={token}"), ends)

    async def of_notice(
        self, connection: Connection, purpose: NoticeLink, user_id: int, *, email: str
    ) -> Link:
        """Return a new link for a notice mailed to ``email``; several can be valid at a time."""
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
        """Mail a new link to ``email``, and return the link; the former link of the same purpose expires."""
        link = await self.make(connection, purpose, user_id, email=email, created_by=created_by)
        facts: dict[str, str | datetime] = {"user_name": user_name, "until": link.expires_time}
        await self.mailer.mail(connection, _LETTERS[purpose], email, user_id, facts=facts, link=link.url)
        return replace(link, mailed=True)

    def _address(self, path_and_fragment: str) -> str:
        return self.public_url + path_and_fragment


def links_of(settings: Settings, mailer: Mailer) -> AccountLinks:
    """Return the link factory of the installation, which mails with ``mailer``."""
    return AccountLinks(mailer, settings.server.public_url, settings.auth.link_timeout)


def digest_of(token: str) -> bytes:
    """Return the digest of a token, which is any text sent by a client."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
