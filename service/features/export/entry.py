"""Entries in export form, and batches of them: one JSON object each, with all recorded data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import msgspec
import structlog

from service.features.export.store_entries import StoredEntry
from service.kernel.clock import rfc3339
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.fields import camel
from service.settings import ExportLog

_CHAIN: Final = ("chain_key", "chain_number", "chain_hash")


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of ``log``. ``id`` is the event's id, and stays the same when the entry is sent again.

    ``time`` is RFC 3339. ``entry`` has the members of the API, or for decisions those of the decision log.
    ``chain`` is the position in the hash chain of its day; decisions have none.
    """

    id: str
    log: ExportLog
    time: str
    entry: Mapping[str, Any]
    chain: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """An entry that waits to be sent, its position in its log, and its length in the native format."""

    position: int
    create_time: datetime
    entry: Entry
    length: int


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Entry).decode


def entry_of(log: ExportLog, stored: StoredEntry) -> Entry:
    """Return ``stored`` in export form."""
    event_id, time = str(stored.event_id), rfc3339(stored.create_time)
    if log == "decisions":
        event = msgspec.json.decode(stored.columns["event"])
        return Entry(event_id, log, event.get("time", time), event)
    columns = dict(stored.columns)
    key, number, link = (columns.pop(name, None) for name in _CHAIN)
    day = str(stored.create_time.astimezone(UTC).date())
    place = {"day": day, "key": key, "number": number, "hash": None if link is None else link.hex()}
    return Entry(event_id, log, time, {camel(name): value for name, value in columns.items()}, place)


def encoded(entry: Entry) -> bytes:
    """Return ``entry`` as one line of JSON, without a line feed."""
    return _encode(entry)


def decoded(text: str | bytes) -> Entry:
    """Parse an entry from ``text``, the result of ``encoded``."""
    return _decode(text)


class Failed(Exception):  # noqa: N818 - an outcome that the sender handles
    """The batch was not accepted, but may be accepted later. The message has the reason and no secret.

    ``retry_after`` is the receiver's demand, in seconds. ``internal``: the receiver itself failed.
    """

    def __init__(self, reason: str, *, retry_after: float | None = None, internal: bool = False) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.internal = internal


class Refused(Failed):
    """The receiver refuses the batch, or it cannot be encoded; one entry can be the cause."""


Encoding: TypeAlias = Callable[[Entry], bytes]
"""Returns an entry as one line of JSON, without a line feed."""

_log = structlog.get_logger(__name__)
_PART: Final = 20  # entries encoded between two yields to the event loop


async def encoded_all(entries: Sequence[Entry], encoding: Encoding) -> list[bytes]:
    """Return ``entries`` encoded by ``encoding``; yields to other tasks every few entries.

    Raises Refused for an entry that cannot be encoded, so that it does not block the others.
    """
    encoded, pauses = [], CooperativeYield()
    for place, entry in enumerate(entries):
        try:
            encoded.append(encoding(entry))
        except Exception as error:  # noqa: BLE001 - a fault of this program, in one of many forms
            _log.exception("an entry can't be encoded", log=entry.log, id=entry.id)
            raise Refused(f"the entry can't be encoded: {type(error).__name__}") from None
        if place % _PART == _PART - 1:
            await pauses.give_way()
    return encoded
