"""An entry as it is exported: the own format, one JSON object that has all that is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from service.kernel.clock import rfc3339
from service.records.export_entries import StoredEntry
from service.settings import ExportLog

_CHAIN: Final = ("chain_key", "chain_number", "chain_hash")


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of ``log``. ``id`` is that of the event: the same each time that it is sent.

    ``time`` is RFC 3339. ``entry`` has the members as the API names them; of a decision they are those of its
    line in the decision log. ``chain`` is its place in the hash chain of its day; decisions have none.
    """

    id: str
    log: ExportLog
    time: str
    entry: Mapping[str, Any]
    chain: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """An entry that waits to be sent, its position in its log, and its bytes in the own format."""

    position: int
    create_time: datetime
    entry: Entry
    length: int


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Entry).decode


def entry_of(log: ExportLog, stored: StoredEntry) -> Entry:
    """Return ``stored`` as it is exported."""
    event_id, time = str(stored.event_id), rfc3339(stored.create_time)
    if log == "decisions":
        event = msgspec.json.decode(stored.columns["event"])
        return Entry(event_id, log, event.get("time", time), event)
    columns = dict(stored.columns)
    key, number, link = (columns.pop(name, None) for name in _CHAIN)
    day = str(stored.create_time.astimezone(UTC).date())
    place = {"day": day, "key": key, "number": number, "hash": None if link is None else link.hex()}
    return Entry(event_id, log, time, {_camel(name): value for name, value in columns.items()}, place)


def encoded(entry: Entry) -> bytes:
    """Return ``entry`` as one line of JSON, without a line feed."""
    return _encode(entry)


def decoded(text: str | bytes) -> Entry:
    """Return the entry that ``encoded`` made ``text`` of."""
    return _decode(text)


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
