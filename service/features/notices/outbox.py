"""Puts mails into the outbox: rows that the job ``mail`` sends."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import uuid4

from service.errors import Unavailable
from service.features.notices import store_mail
from service.features.notices.letters import FORMS, Letter, Reader
from service.features.notices.store_mail import NewMail
from service.kernel.languages import LANGUAGES, spelling_of
from service.kernel.notify import Mailer
from service.kernel.time_zones import zone_of
from service.records import accounts
from service.records.database.transactions import Connection, Database
from service.settings import Mail, Settings

_AT_ONCE: Final = 500  # links of one transaction


class Sealing(Protocol):
    """Encrypts secrets, as ``service.features.second_factors.sealing.FactorKeys`` does."""

    @property
    def current(self) -> bytes | None:
        """The id of the current key, the first bytes of everything that it seals; None without a key."""

    def seal(self, secret: bytes, about: str) -> bytes:
        """Return ``secret`` encrypted and bound to ``about``."""

    def open(self, sealed: bytes, about: str) -> bytes:
        """Return the secret; raises Unavailable for an unknown key and for another ``about``."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Outbox(Mailer):
    """The outbox of an installation; without ``mail.url`` it accepts no mails."""

    settings: Settings
    keys: Sealing

    @property
    def enabled(self) -> bool:
        return bool(self.settings.mail.url)

    async def put(self, connection: Connection, letter: Letter, link: str | None = None) -> bool:
        """Write ``letter``, to be sent after the commit of ``connection``'s transaction.

        ``link`` is stored encrypted. Returns False and writes nothing if sending is off. Raises ValueError if
        the letter needs a link and has none.
        """
        if not self.enabled:
            return False
        if link is None and FORMS[letter.kind].needs_link:
            raise ValueError(f"a mail of the kind {letter.kind} needs a link")
        message_id = new_message_id(self.settings.mail)
        reader = await self._reader(connection, letter.user_id)
        sealed = None if link is None else self.keys.seal(link.encode(), about(message_id))
        new = NewMail(
            message_id=message_id,
            kind=letter.kind,
            recipient=letter.recipient,
            user_id=letter.user_id,
            facts=letter.shown_facts(reader),
            language=reader.language,
            sealed_link=sealed,
        )
        await store_mail.add(connection, new)
        return True

    async def _reader(self, connection: Connection, user_id: int | None) -> Reader:
        """Return the language and zone of a user; those of the installation without a user or a choice."""
        language, zone = (None, None) if user_id is None else await accounts.choices(connection, user_id)
        shipped = spelling_of(self.settings.mail.language)
        return Reader(language if language in LANGUAGES else shipped, zone_of(zone))

    async def mail(
        self,
        connection: Connection,
        kind: str,
        recipient: str,
        user_id: int | None,
        *,
        facts: Mapping[str, str | datetime],
        link: str,
    ) -> bool:
        """Write a letter of ``kind`` with a link, as ``put`` does."""
        return await self.put(connection, Letter(kind, recipient, user_id, facts), link)


def new_message_id(settings: Mail) -> str:
    """Return a ``Message-ID`` (RFC 5322 §3.6.4) in the domain of the sender."""
    return f"<{uuid4()}@{settings.from_.rpartition('@')[2]}>"


def about(message_id: str) -> str:
    """Return the context to which the sealed link of a mail is bound."""
    return f"the link of mail {message_id}"


async def reseal_links(database: Database, keys: Sealing) -> int:
    """Seal the links of waiting mails with the current key, and return their number.

    A link that no key opens stays as it is. Raises ``Unavailable``.
    """
    done, last = 0, 0
    full = True
    while full and keys.current is not None:
        async with database.transaction() as connection:
            mails = await store_mail.sealed_with_others(connection, keys.current, after=last, most=_AT_ONCE)
            for waiting in mails:
                with suppress(Unavailable):
                    link = keys.open(waiting.sealed_link or b"", about(waiting.message_id))
                    await store_mail.reseal(
                        connection, waiting.id, keys.seal(link, about(waiting.message_id))
                    )
                    done += 1
        full = len(mails) == _AT_ONCE
        last = mails[-1].id if mails else 0
    return done
