"""Entries as rows, with their canonical bytes: the same from the stream and from the database."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from ipaddress import ip_interface
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec.structs import astuple

from service.features.audit_proof.commitments import Commitments, Erased, chained
from service.records.logs.events import LoginEvent, OperationEvent
from service.records.logs.inserts import TABLES, Log

_NOT_HASHED: Final = ("id", "chain_key", "chain_number", "chain_hash", "salts", "erased")

COLUMNS: Final[dict[Log, tuple[str, ...]]] = {
    log: tuple(column.name for column in table.columns if column.name not in _NOT_HASHED)
    for log, table in TABLES.items()
}
"""The columns covered by the chain, in the order in which they are hashed."""

_LATER: Final[dict[Log, int]] = {"operation_log": 6, "login_log": 1}
"""Number of last columns added after entries had been hashed without them."""

_NUMBER: Final = "\0"  # marks a number written as text; no stored text has this character
_EXACT: Final = 15  # digits of an integer that every JSON reader keeps exactly
# Numbers that can be written in more than one way, or have more digits.
_UNUSUAL: Final = re.compile(rb"[0-9][.eE]|[0-9]{16}|-0")


@dataclass(frozen=True, slots=True)
class Row:
    """One entry, ready for its log: ``line`` is the JSON of its columns, ``canonical`` the hashed bytes."""

    event_id: UUID
    create_time: datetime
    day: date
    line: bytes
    canonical: bytes
    salts: bytes | None = None
    """The salts of its commitments; None for an entry without commitments."""


_EVENTS: Final[dict[Log, type[msgspec.Struct]]] = {"operation_log": OperationEvent, "login_log": LoginEvent}


def _entry(log: Log) -> type[msgspec.Struct]:
    """Return a type of the entries of ``log``, its members in the order of ``COLUMNS``; JSON stays text."""
    members = {member.name: member for member in msgspec.structs.fields(_EVENTS[log])}
    described: list[Any] = []
    for column in map(str, COLUMNS[log]):
        member = members[column]
        kind = msgspec.Raw if member.type is Any else member.type
        described.append((column, kind) if member.default is msgspec.NODEFAULT else (column, kind, None))
    return msgspec.defstruct("Entry", described, kw_only=True)


_DECODERS: Final = {log: msgspec.json.Decoder(_entry(log)).decode for log in TABLES}
_SPECIAL: Final = {
    log: tuple(
        (place, table.c[name].type.__visit_name__)
        for place, name in enumerate(COLUMNS[log])
        if table.c[name].type.__visit_name__ in ("INET", "JSONB")
    )
    for log, table in TABLES.items()
}
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode


def read(log: Log, line: bytes, *, commits: bool = False) -> Row:
    """Decode an entry that ``entries.encode`` made; raises ValueError if it is malformed.

    With ``commits``, its personal values are chained as commitments with new salts.
    """
    salts = None
    try:
        event: Any = _DECODERS[log](line)
        if commits:
            made = Commitments()
            canonical = committed_bytes(log, astuple(event), made)
            salts = made.salts
        else:
            canonical = canonical_bytes(log, astuple(event))
    except RecursionError:
        raise ValueError("a value is nested too deeply") from None
    moment = event.create_time.astimezone(UTC)
    return Row(event.event_id, moment, moment.date(), line, canonical, salts)


def canonical_bytes(log: Log, values: Sequence[Any]) -> bytes:
    """Return the bytes to hash for the values of ``COLUMNS``, with JSON and addresses given as text.

    Equal rows give equal bytes, and different rows different bytes. The database's notation of JSON numbers
    and addresses, and its order of JSON names, do not matter. Empty trailing columns that older entries
    lacked are left out, so older entries keep their hashes. No other row has the bytes of an older entry.
    """
    plain = list(values)
    plain[0] = plain[0].astimezone(UTC)  # create_time
    for place, kind in _SPECIAL[log]:
        if (value := plain[place]) is not None:
            plain[place] = _address(value) if kind == "INET" else _json(value)
    for _ in range(_LATER[log]):
        if plain[-1] is not None:
            break
        plain.pop()
    return _encode(plain)


def committed_bytes(log: Log, values: Sequence[Any], commitments: Commitments) -> bytes:
    """Return the bytes to hash for the values of ``COLUMNS``, with commitments to its personal values.

    No row without commitments has these bytes, since the actor is an object. ValueError for erased values
    that are not as an erasure leaves them.
    """
    plain = normal(log, dict(zip(COLUMNS[log], values, strict=True)))
    hashed = [*(plain | chained(log, plain, commitments)).values()]
    for _ in range(_LATER[log]):
        if hashed[-1] is not None:
            break
        hashed.pop()
    return _encode_sorted(hashed)


def opened(log: Log, values: Sequence[Any], salts: bytes | None, erased: Any) -> tuple[bytes, Commitments]:
    """Return the hashed bytes of a stored entry, and its commitments; an entry without salts has none.

    Raises ValueError for an entry that was changed so that it has no such bytes.
    """
    if salts is None:
        if erased is not None:
            raise ValueError("an entry without salts has erasures")
        return canonical_bytes(log, values), Commitments()
    gone = {} if erased is None else msgspec.convert(erased, Erased).commitments
    commitments = Commitments(bytes(salts), gone)
    return committed_bytes(log, values, commitments), commitments


def normal(log: Log, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a row that are hashed, in one notation for the stream and the database."""
    plain = {name: row[name] for name in COLUMNS[log]}
    plain["create_time"] = plain["create_time"].astimezone(UTC)
    for place, kind in _SPECIAL[log]:
        name = COLUMNS[log][place]
        if (value := plain[name]) is not None:
            plain[name] = _address(value) if kind == "INET" else _value(value)
    return plain


@lru_cache(4096)
def _address(text: str) -> str:
    try:
        return str(ip_interface(text))
    except ValueError:
        return text  # the database will refuse it


def _json(text: str | msgspec.Raw) -> msgspec.Raw | None:
    value = _value(text)
    return None if value is None else msgspec.Raw(_encode_sorted(value))


def _value(text: str | msgspec.Raw) -> Any:
    given = text.encode() if isinstance(text, str) else bytes(text)
    if given in (b"null", b""):
        return None
    if _UNUSUAL.search(given):
        return json.loads(given, parse_int=_number, parse_float=_number, parse_constant=_number)
    return _decode(given)


@lru_cache(4096)
def _number(token: str) -> int | str:
    """Return a canonical value of a JSON number: the same one for 1e2, 100 and 100.0."""
    sign, digits, exponent = Decimal(token).as_tuple()
    significant = "".join(map(str, digits)).lstrip("0")
    short = significant.rstrip("0")
    if not short or not isinstance(exponent, int):
        return 0
    exponent += len(significant) - len(short)
    if exponent >= 0 and len(short) + exponent <= _EXACT:
        return int("-" * sign + short + "0" * exponent)
    return f"{_NUMBER}{'-' * sign}{short}e{exponent}"
