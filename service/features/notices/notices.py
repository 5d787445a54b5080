"""Notifies users of changes to their accounts, in the product and by mail. It can't be switched off.

A notice and its mail are written in the transaction of the change. The mail goes only to the last address
that the user has confirmed; a stranger may own any other address.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address, ip_network
from typing import Final, Protocol

from service.features.notices import store_notices as notices
from service.features.notices.letters import (
    FORMS,
    Letter,
    Phrase,
    Reader,
    has_link,
    names_of,
    own_texts,
    record_of,
)
from service.features.notices.letters import Fact as LetterFact
from service.features.notices.outbox import Outbox
from service.features.notices.store_notices import NewNotice, Told
from service.kernel import notify
from service.kernel.clock import rfc3339
from service.kernel.languages import FIRST
from service.kernel.notify import BY_ANYBODY, NO_FACTS, ActedBy, Fact, Facts, NoticeKind, NoticeLink
from service.kernel.origin import ORIGIN
from service.kernel.user_agents import describe, without_version
from service.records.database.transactions import Connection, Database

_AGAIN: Final = timedelta(days=1)  # a former address gets one mail of a kind in this time
_PROVIDER_BITS: Final = {4: 16, 6: 32}
_PHRASES: Final = ("factor", "state")  # facts with words in each language
_MISSING: Final[Mapping[str, LetterFact]] = {
    **dict.fromkeys(("givenRoles", "takenRoles", "changedRoles"), Phrase("no_roles")),
    "until": Phrase("no_end"),
}


class MadeLink(Protocol):
    """A link, and its expiry."""

    @property
    def url(self) -> str:
        """Its address."""

    @property
    def expires_time(self) -> datetime:
        """The expiry."""


class Links(Protocol):
    """Creates the links of notices; implemented by ``service.features.account_links.links.AccountLinks``."""

    async def of_notice(
        self, connection: Connection, purpose: NoticeLink, user_id: int, *, email: str
    ) -> MadeLink:
        """Return a new link for a notice to be mailed to ``email``."""


class Chats(Protocol):
    """Posts notices to a chat; the port ``chat``, which a feature may provide."""

    @property
    def language(self) -> str:
        """The language of the messages."""

    def texts(self, kind: str) -> bool:
        """Return whether a destination has the kind."""

    async def put(
        self, connection: Connection, kind: str, facts: Mapping[str, str], request: str | None
    ) -> None:
        """Write a notice with shown ``facts``; ``request`` is the id of the record that it is about."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Notices(notify.Notices):
    """Writes notices; without ``outbox`` and ``links``, or without a mail server, sends no mails.

    A chat gets a notice once, whatever the number of users who get it.
    """

    outbox: Outbox | None = None
    links: Links | None = None
    chats: Chats | None = None

    async def notify(
        self,
        connection: Connection,
        user_id: int,
        kind: NoticeKind,
        by: ActedBy = "self",
        facts: Facts = NO_FACTS,
        *,
        also: str | None = None,
        client_ip: str | None = None,
    ) -> None:
        """Write a notice of ``kind`` with ``facts`` for a user; do nothing if there is no such user.

        The notice of a user's own act has the client of the request. The notice of another user's act has no
        client; the operation log records the actor. ``client_ip`` is for an act outside of its request.
        ``also`` is an earlier address of the account: its mail has no link.
        """
        if also is not None and await notices.notified_within(connection, user_id, kind, _AGAIN):
            also = None
        new = _notice(user_id, kind, by, facts, client_ip)
        owner = await notices.add(connection, new)
        if owner is None or not self._mails(kind):
            return
        await self._mail(connection, new, owner)
        if also not in (None, owner.email):
            shown = _shown(new, owner, owner.create_time)
            await self._put(connection, Letter(kind, str(also), user_id, shown))

    async def notify_each(
        self,
        connection: Connection,
        user_ids: Collection[int],
        kind: NoticeKind,
        by: ActedBy,
        facts: Facts = NO_FACTS,
    ) -> None:
        """Write a notice of ``kind`` with ``facts`` for several users."""
        if not user_ids:
            return
        new = _notice(0, kind, by, facts, None)
        owners = await notices.add_each(connection, new, user_ids)
        for owner in owners:
            if self._mails(kind):
                await self._mail(connection, new, owner)
        if owners and self.chats is not None and self.chats.texts(kind):
            await self._post(connection, self.chats, new, owners[0])

    def _mails(self, kind: NoticeKind) -> bool:
        return kind in FORMS and self.outbox is not None and self.outbox.enabled

    async def _mail(self, connection: Connection, new: NewNotice, owner: Told) -> None:
        """Mail a notice to the account's owner, with a link if its text contains one."""
        if owner.email is None:
            return
        if not has_link(new.kind):
            shown = _shown(new, owner, owner.create_time)
            await self._put(connection, Letter(new.kind, owner.email, owner.user_id, shown))
        elif self.links is not None:
            purpose = FORMS[new.kind].link
            link = await self.links.of_notice(connection, purpose, owner.user_id, email=owner.email)
            shown = _shown(new, owner, link.expires_time)
            await self._put(connection, Letter(new.kind, owner.email, owner.user_id, shown), link.url)

    async def _post(self, connection: Connection, chats: Chats, new: NewNotice, owner: Told) -> None:
        """Write a notice for a chat, with the facts of its mail alone."""
        letter = Letter(new.kind, "", owner.user_id, _shown(new, owner, owner.create_time))
        named = names_of(own_texts(FIRST), new.kind)
        facts = letter.shown_facts(Reader(chats.language))
        facts = {name: text for name, text in facts.items() if name in named}
        record = record_of(new.facts)
        await chats.put(connection, new.kind, facts, None if record is None else str(record))

    async def _put(self, connection: Connection, letter: Letter, url: str | None = None) -> None:
        assert self.outbox is not None  # noqa: S101 - see _mails
        await self.outbox.put(connection, letter, url)

    async def of_login(self, database: Database, user_id: int, address: str, user_agent: str) -> None:
        """Notify a user of a login from a device that is new to the account. Raises ``Unavailable``.

        A device is a browser on a system in the network of a provider (IPv4: /16, IPv6: /32). Addresses
        change daily, so they do not locate a user more exactly.
        """
        browser, system = map(without_version, describe(user_agent))
        digest = sha256("\x00".join((browser, system, _provider(address))).encode()).digest()
        if await notices.is_known(database, user_id, digest):
            return
        async with database.transaction() as connection:
            if await notices.know(connection, user_id, digest):
                await self.notify(connection, user_id, "new_device")


def _notice(user_id: int, kind: NoticeKind, by: ActedBy, facts: Facts, client_ip: str | None) -> NewNotice:
    origin = ORIGIN.get()
    client = origin if by == "self" and kind not in BY_ANYBODY else None
    browser, system = describe(client.user_agent) if client and client.user_agent else ("", "")
    return NewNotice(
        user_id=user_id,
        kind=kind,
        acted_by=by,
        facts={name: _stored(fact) for name, fact in facts.items() if fact is not None},
        client_ip=client.address or None if client else client_ip,
        browser=browser or None,
        os=system or None,
        request_id=origin.request_id if origin else None,
    )


def _stored(fact: Fact | datetime) -> Fact:
    return rfc3339(fact) if isinstance(fact, datetime) else fact


def _shown(new: NewNotice, owner: Told, link_until: datetime) -> dict[str, LetterFact]:
    given = {name: _fact(name, fact) for name, fact in new.facts.items()}
    times = {"time": owner.create_time, "link_until": link_until}
    return {**_MISSING, **given, **times, "user_name": owner.user_name, "where": _where(new)}


def _where(new: NewNotice) -> Phrase:
    if new.acted_by != "self":
        return Phrase(f"by_{new.acted_by}")
    device: list[str] = [name for name in (new.browser, new.os) if name]
    facts: dict[str, LetterFact] = {
        "address": new.client_ip or Phrase("unknown_address"),
        "device": device or Phrase("unknown_device"),
    }
    return Phrase("by_self", facts=facts)


def _fact(name: str, fact: Fact) -> LetterFact:
    if name == "until":
        return datetime.fromisoformat(str(fact))
    return Phrase(f"{name}_{fact}", str(fact)) if name in _PHRASES else fact


def _provider(address: str) -> str:
    """Return the network of a client's provider; "" for an invalid address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return ""
    return str(ip_network((parsed, _PROVIDER_BITS[parsed.version]), strict=False))
