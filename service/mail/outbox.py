"""Puts mails into the outbox: rows that the job ``mail`` sends."""

from __future__ import annotations

from typing import Protocol
from uuid import uuid4

from service.mail.letters import WORDS, Letter
from service.records import mail
from service.records.database.transactions import Connection
from service.records.mail import NewMail
from service.settings import Settings


class Sealing(Protocol):
    """Encrypts secrets, as ``service.authn.factors.sealing.FactorKeys`` does."""

    def seal(self, secret: bytes, about: str) -> bytes:
        """Return ``secret`` encrypted and bound to what it is ``about``."""

    def open(self, sealed: bytes, about: str) -> bytes:
        """Return the secret; raises Unavailable if its key is not known, or it is about something else."""


class Outbox:
    """The outbox of an installation; without ``mail.url`` it takes nothing."""

    def __init__(self, settings: Settings, keys: Sealing) -> None:
        self._settings = settings
        self._keys = keys

    @property
    def enabled(self) -> bool:
        """True if mails are sent."""
        return bool(self._settings.mail.url)

    def link_to(self, path_and_fragment: str) -> str:
        """Return the link to a page of this service, such as ``/console/#/invitation?token=…``.

        It begins with ``server.public_url``, whatever host a request names.
        """
        return self._settings.server.public_url + path_and_fragment

    async def put(self, connection: Connection, letter: Letter, link: str | None = None) -> bool:
        """Write ``letter``, to be sent once the transaction of ``connection`` is committed.

        ``link`` is kept encrypted. False, and nothing is written, if no mails are sent. ValueError if the
        letter needs a link and has none.
        """
        if not self.enabled:
            return False
        if link is None and WORDS[letter.kind].needs_link:
            raise ValueError(f"a mail of the kind {letter.kind} needs a link")
        message_id = f"<{uuid4()}@{self._settings.mail.from_.rpartition('@')[2]}>"
        sealed = None if link is None else self._keys.seal(link.encode(), about(message_id))
        new = NewMail(
            message_id=message_id,
            kind=letter.kind,
            recipient=letter.recipient,
            user_id=letter.user_id,
            facts=letter.shown_facts(),
            sealed_link=sealed,
        )
        await mail.add(connection, new)
        return True


def about(message_id: str) -> str:
    """Return what the link of a mail is bound to."""
    return f"the link of mail {message_id}"
