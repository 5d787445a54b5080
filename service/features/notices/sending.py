"""Sends waiting mails: none is lost, and none is sent twice while the mail server answers.

A mail is claimed for longer than sending it may take. So a later run takes over the mails of a killed
process, and a process that only lost the database is still the only sender. If the server falls silent, it
may or may not have accepted the message. The mail is then sent again, with the same ``Message-ID``.
"""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime
from time import monotonic
from typing import Final, Literal, TypeAlias, get_args

import structlog

from service.errors import Unavailable
from service.features.notices import store_mail as mail
from service.features.notices.letters import text_of
from service.features.notices.mail_server import (
    CONTENT_SHARE,
    ENVELOPE_SHARE,
    MailFault,
    MailServer,
    deliverable,
)
from service.features.notices.outbox import Sealing, about, new_message_id
from service.features.notices.sentences import sentence
from service.features.notices.store_mail import WaitingMail
from service.kernel.clock import now
from service.kernel.coded_sentences import Sentence
from service.kernel.languages import FIRST, spelling_of
from service.kernel.metrics import Sample, counted
from service.kernel.operator_error import OperatorError
from service.records.database.transactions import Connection, Database
from service.settings import Settings


def message_of(mail: WaitingMail, recipient: str, sender: str, site: str, link: str | None) -> bytes:
    """Return ``mail`` to ``recipient`` as bytes, the same for each attempt.

    Raises KeyError for an unknown kind.
    """
    language = mail.language or FIRST
    subject, text = text_of(mail.kind, mail.facts, site, link, language)
    message = EmailMessage(policy=SMTP if recipient.isascii() else SMTPUTF8)
    message["From"] = _address(sender)
    message["To"] = _address(recipient)
    message["Subject"] = subject
    message["Date"] = format_datetime(mail.create_time)
    message["Message-ID"] = mail.message_id
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834 §5: prevents automatic replies
    # Not every server takes 8-bit text (RFC 6152).
    message.set_content(text, cte="7bit" if text.isascii() else "base64")
    message["Content-Language"] = language  # RFC 3282; the line before drops such headers
    return message.as_bytes()


def _address(address: str) -> Address:
    local, _, domain = address.rpartition("@")
    return Address(username=local, domain=domain)


LOOK_EVERY: Final = 5.0
"""Seconds between two polls of the outbox."""
Outcome: TypeAlias = Literal["sent", "deferred", "given_up"]

_BEGIN_FOR: Final = 60.0  # seconds of a run in which it begins further mails
_FINISH_FOR: Final = 10.0  # seconds for mails in progress when the run is stopped
_AGAIN: Final = 1.0  # seconds between two attempts to store an outcome

_log = structlog.get_logger()


async def send_test(settings: Settings, recipient: str) -> str:
    """Send a mail of the kind ``test`` at once, and return the answer of the server; raises ``MailFault``."""
    address = deliverable(recipient)
    message_id = new_message_id(settings.mail)
    mail_of_now = WaitingMail(
        id=0,
        message_id=message_id,
        kind="test",
        recipient=address,
        user_id=None,
        facts={},
        language=spelling_of(settings.mail.language),
        sealed_link=None,
        attempts=1,
        create_time=now(),
    )
    message = message_of(mail_of_now, address, settings.mail.from_, settings.server.public_url, None)
    async with MailServer(settings) as server:
        await server.begin(address)
        return await server.finish(message)


class Sending:
    """Sends mails."""

    def __init__(self, settings: Settings, keys: Sealing) -> None:
        self._settings = settings
        self._keys = keys
        timeout = settings.mail.timeout
        self._to_begin = timedelta(seconds=(2 * ENVELOPE_SHARE + 1) * timeout)
        self._to_finish = timedelta(seconds=(CONTENT_SHARE + 2) * timeout)
        self.within: Final = _BEGIN_FOR + (self._to_begin + 2 * self._to_finish).total_seconds()
        """The maximum duration of a run, in seconds."""
        self._under_way: set[asyncio.Task[None]] = set()
        self.counts: Final[dict[Outcome, int]] = dict.fromkeys(get_args(Outcome), 0)
        """The number of attempts by outcome since the start of this worker."""

    @property
    def interval(self) -> float:
        """Seconds between two polls; without a mail server only old mails are given up."""
        return LOOK_EVERY if self._settings.mail.url else 3600.0

    def samples(self) -> Iterator[Sample]:
        """Yield the attempts by outcome."""
        yield from counted("portcullis_mails_total", "outcome", self.counts)

    async def pending(self, connection: Connection) -> bool:
        """Return whether a run has work to do."""
        return await mail.pending(connection, sends=bool(self._settings.mail.url))

    async def run(self, database: Database) -> Sentence:
        """Give up old mails, send due mails, and return their numbers as text.

        Raises ``OperatorError`` if the mail server takes no mail, and ``Unavailable``.
        """
        before = dict(self.counts)
        async with database.transaction() as connection:
            await mail.forget_ended(connection)
            for given_up in await mail.give_up_old(connection):
                self._count("given_up", given_up.id, given_up.kind, given_up.fault)
        if self._settings.mail.url:
            await self._send_due(database)
        done = {outcome: count - before[outcome] for outcome, count in self.counts.items()}
        return sentence("mails_sent", sent=done["sent"], deferred=done["deferred"], given_up=done["given_up"])

    async def _send_due(self, database: Database) -> None:
        begun = monotonic()
        async with MailServer(self._settings) as server:
            while monotonic() - begun < _BEGIN_FOR:
                async with database.transaction() as connection:
                    claimed = await mail.claim(connection, self._to_begin)
                if claimed is None:
                    return
                await self._send(database, server, claimed)

    async def _send(self, database: Database, server: MailServer, claimed: WaitingMail) -> None:
        """Send a mail completely, even if this run is stopped meanwhile; raises ``OperatorError``."""
        task = asyncio.create_task(self._sent(database, server, claimed))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task}, timeout=_FINISH_FOR)
            raise

    async def _sent(self, database: Database, server: MailServer, claimed: WaitingMail) -> None:
        try:
            recipient = deliverable(claimed.recipient)
            message = self._message(claimed, recipient)
            await server.begin(recipient)
            async with database.transaction() as connection:
                # Another sender may have claimed it if this process was stalled.
                if not await mail.hold(connection, claimed, self._to_finish):
                    return
            await server.finish(message)
        except MailFault as fault:
            await self._failed(database, claimed, fault)
            if fault.of_server:
                raise OperatorError(sentence("mail_server_refuses", fault=fault.stated)) from None
        else:
            await self._note(database, claimed, None)
            self.counts["sent"] += 1

    def _message(self, claimed: WaitingMail, recipient: str) -> bytes:
        site, sender = self._settings.server.public_url, self._settings.mail.from_
        try:
            sealed = claimed.sealed_link
            link = None if sealed is None else self._keys.open(sealed, about(claimed.message_id)).decode()
            return message_of(claimed, recipient, sender, site, link)
        except Unavailable:
            raise MailFault(sentence("mail_link_unreadable")) from None
        except KeyError:
            raise MailFault(sentence("undelivered_without_text")) from None

    async def _failed(self, database: Database, claimed: WaitingMail, fault: MailFault) -> None:
        await self._note(database, claimed, fault)
        outcome: Outcome = "given_up" if fault.final else "deferred"
        self._count(outcome, claimed.id, claimed.kind, fault.fault)

    async def _note(self, database: Database, claimed: WaitingMail, fault: MailFault | None) -> None:
        """Store the outcome of a mail; retry while the database is away, until the claim may expire."""
        until = monotonic() + self._to_finish.total_seconds()
        while True:
            try:
                async with database.transaction() as connection:
                    if fault is None or fault.final:
                        await mail.end(connection, claimed, None if fault is None else fault.fault)
                    else:
                        await mail.defer(connection, claimed, fault.fault, others=fault.of_server)
            except Unavailable:
                if monotonic() > until:
                    raise
                await asyncio.sleep(_AGAIN)
            else:
                return

    def _count(self, outcome: Outcome, mail_id: int, kind: str, fault: str | None) -> None:
        self.counts[outcome] += 1
        tell = _log.warning if outcome == "given_up" else _log.info
        event = "a mail is given up" if outcome == "given_up" else "a mail is deferred"
        tell(event, mail=mail_id, kind=kind, fault=fault)
