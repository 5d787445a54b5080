"""Sends dead letters again, when somebody asks for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from service.audit.export.entry import Entry, Refused, decoded
from service.audit.export.receivers import Receiver, receiver_of
from service.records import export_entries
from service.records.database.transactions import Database
from service.records.export_entries import DeadLetter
from service.settings import Destination

_AT_ONCE: Final = 100


@dataclass(slots=True)
class Resent:
    """How many dead letters were sent, how many are still refused, and why the last of these."""

    sent: int = 0
    refused: int = 0
    reason: str = ""


async def resend(database: Database, destination: Destination) -> Resent:
    """Send all dead letters of ``destination``, and delete those that it takes.

    They are sent one by one: each of them was refused before. Raises Failed and Unavailable.
    """
    receiver = receiver_of(destination)
    done = Resent()
    position = 0
    try:
        while True:
            async with database.transaction() as connection:
                dead_letters = await export_entries.dead_letters_after(
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
            await export_entries.delete_dead_letters(connection, [letter.id])
        done.sent += 1


def _entry(letter: DeadLetter) -> Entry:
    try:
        return decoded(letter.entry)
    except msgspec.MsgspecError as error:  # such as a number that only a database holds
        raise Refused(f"what is stored can't be read: {error}") from None
