"""Receivers of entries, created from the settings of destinations; and retries of dead letters."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import msgspec

from service.features.export import store_entries
from service.features.export.entry import Encoding, Entry, Refused, decoded, encoded
from service.features.export.ocsf import ocsf_event
from service.features.export.schema import DeadLetter
from service.records.database.transactions import Database
from service.settings import Destination


class Receiver(Protocol):
    """Accepts batches of entries."""

    async def send(self, entries: Sequence[Entry]) -> None:
        """Send ``entries`` in order, and return once all were accepted. Raises Failed and Refused.

        An attempt ends within the ``timeout`` of the destination. After a failed attempt, the receiver may
        have some or all entries.
        """

    async def close(self) -> None:
        """Release open resources."""


_ENCODINGS: Final[dict[str, Encoding]] = {"json": encoded, "ocsf": ocsf_event}


def receiver_of(destination: Destination) -> Receiver:
    """Return the receiver of ``destination``; imports its modules on demand. Raises Failed."""
    encoding = _ENCODINGS[destination.format]
    if destination.transport in ("http", "https"):
        from service.features.export.webhook import Webhook

        return Webhook(destination, encoding)
    if destination.transport == "file":
        from service.features.export.export_file import ExportFile

        return ExportFile(Path(destination.path), encoding, destination.timeout)
    from service.features.export.syslog import Syslog

    return Syslog(destination, encoding)


_AT_ONCE: Final = 100


@dataclass(slots=True)
class Resent:
    """Numbers of sent and still refused dead letters, and the reason of the last refusal."""

    sent: int = 0
    refused: int = 0
    reason: str = ""


async def resend(database: Database, destination: Destination) -> Resent:
    """Send all dead letters of ``destination``, and delete the accepted ones.

    They are sent one by one, because each was refused before. Raises Failed and Unavailable.
    """
    receiver = receiver_of(destination)
    done = Resent()
    position = 0
    try:
        while True:
            async with database.transaction() as connection:
                dead_letters = await store_entries.dead_letters_after(
                    connection, destination.name, position, _AT_ONCE
                )
            if not dead_letters:
                return done
            await _send(database, receiver, dead_letters, done)
            position = dead_letters[-1].id
    finally:
        await receiver.close()


async def _send(database: Database, receiver: Receiver, letters: Sequence[DeadLetter], done: Resent) -> None:
    for letter in letters:
        try:
            await receiver.send([_entry(letter)])
        except Refused as refusal:
            done.refused += 1
            done.reason = str(refusal)
            continue
        async with database.transaction() as connection:
            await store_entries.delete_dead_letters(connection, [letter.id])
        done.sent += 1


def _entry(letter: DeadLetter) -> Entry:
    try:
        return decoded(letter.entry)
    except msgspec.MsgspecError as error:  # a number that only a database can hold
        raise Refused(f"the stored entry can't be read: {error}") from None
