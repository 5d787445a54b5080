"""Encoding of entries: one event as one JSON object, well-formed for any content."""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from service.audit.redaction import MOST_CHANGES
from service.records.logs.events import LoginEvent, OperationEvent

Event = OperationEvent | LoginEvent

PLAIN: Final = 2048
"""Bytes up to which an entry is kept unchanged; texts of that length are no problem for any index."""
LONGEST: Final = 256
LONGER: Final = {"url": 2048, "query": 2048, "user_agent": 512, "error": 1024}
"""Characters kept of each text of a longer entry: ``LONGEST``, except for these."""
MOST_JSON: Final = 16_384
"""Bytes of ``params``, and of ``response``, in a longer entry; if longer, only the beginning is kept."""
LONGEST_TARGET: Final = 1100
"""Characters kept of a target: the path of a resource has at most 1,024."""

_KEPT_OF_JSON: Final = 1024
_DEEPEST: Final = 32
_JSON_FIELDS: Final = ("params", "response", "changes")
_ADDRESSES: Final = ("client_ip", "login_ip")
# Surrogates, which are no characters (RFC 3629 §3), and NUL, which PostgreSQL can't store.
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_NUL: Final = rb"\u0000"

_encode = msgspec.json.Encoder().encode


def encode(event: Event) -> bytes:
    """Return ``event`` as JSON; long texts are cut with a mark, and invalid characters replaced."""
    try:
        line = _encode(event)
        if len(line) <= PLAIN and _NUL not in line and line.count(b"[") + line.count(b"{") < _DEEPEST:
            return line
    except (ValueError, TypeError, RecursionError, OverflowError):
        pass
    return _encode(well_formed(event))


def well_formed(event: Event) -> Event:
    """Return ``event`` with texts that can be stored, none longer than its field may be."""
    changes: dict[str, Any] = {}
    for name, value in asdict(event).items():
        if name in _JSON_FIELDS:
            changes[name] = _json(value, MOST_CHANGES if name == "changes" else MOST_JSON)
        elif isinstance(value, tuple):
            changes[name] = tuple(_text(target, LONGEST_TARGET) for target in value)
        elif isinstance(value, str):
            changes[name] = _text(value, LONGER.get(name, LONGEST))
    return replace(event, **changes)


def mended(event: Event) -> Event:
    """Return a reduced version, which the database should accept, of an event that it has refused.

    Texts are short ASCII, invalid addresses, targets and changes are removed, and ``params`` and ``response``
    replaced by a mark.
    """
    changes: dict[str, Any] = {}
    for name, value in asdict(event).items():
        if name in ("targets", "changes"):
            changes[name] = None
        elif name in _JSON_FIELDS and value is not None:
            changes[name] = {"cut": "the database rejects it"}
        elif name in _ADDRESSES:
            changes[name] = _address(value)
        elif isinstance(value, str):
            changes[name] = _text(value.encode("ascii", "backslashreplace").decode(), LONGEST)
    return replace(event, **changes)


def _text(value: str, longest: int) -> str:
    if len(value) > longest:
        mark = f"… ({len(value)} characters)"
        value = value[: max(0, longest - len(mark))] + mark
    return _storable(value)


def _json(value: Any, most: int) -> Any:
    if isinstance(value, msgspec.Raw):
        value = msgspec.json.decode(value)
    kept = _plain(value, _DEEPEST)
    line = _encode(kept)
    if len(line) <= most:
        return kept
    return {"cut": line[:_KEPT_OF_JSON].decode("utf-8", "replace"), "length": len(line)}


def _plain(value: Any, depth: int) -> Any:
    """Return ``value`` as JSON with storable texts; only the type name of a value that JSON does not have."""
    if depth == 0:
        return "…"
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return _storable(value)
        case Mapping():
            return {_storable(str(name)): _plain(member, depth - 1) for name, member in value.items()}
        case list() | tuple():
            return [_plain(element, depth - 1) for element in value]
        case _:
            return type(value).__name__


def _storable(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)


def _address(value: str | None) -> str | None:
    try:
        return None if value is None else str(ip_address(value.partition("%")[0]))
    except ValueError:
        return None
