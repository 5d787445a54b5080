"""JSON that every parser reads in the same way.

Parsers differ where the standard leaves room: repeated members, NaN, UTF-16, half a surrogate pair (RFC 8259
§4 and §8, RFC 8725 §2.4, RFC 7515 §4). Another parser may read a checked text differently.
"""

import json
from typing import Any, Final, NoReturn

import msgspec


class DuplicateMember(ValueError):  # noqa: N818 - says what was found
    """An object names a member twice."""


def strict_json(text: bytes, *, numbers_as_text: bool = False) -> Any:
    """Return the value of ``text`` as plain lists, dicts and scalars.

    Raises ValueError for anything but JSON in UTF-8 (RFC 8259), for half a surrogate pair, and for nesting
    deeper than Python recurses (about a thousand levels); DuplicateMember for a repeated member.
    ``numbers_as_text`` returns numbers as they are written, whatever their size.
    """
    try:
        value = (_NUMBERS_AS_TEXT if numbers_as_text else _STRICT).decode(text.decode("utf-8"))
        if b"\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # refuses half of a pair
    except RecursionError:
        raise ValueError("nested too deep") from None
    return value


def is_strict(text: bytes) -> bool:
    """Return True if ``strict_json`` reads ``text``, found faster; False is inconclusive.

    Each text in a JSON document without escapes stands between two quotation marks. A repeated member is
    dropped when the document is read, and its marks are missing when the value is written again.
    """
    if b"\\" in text:
        return False
    try:
        written = _write(_read(text))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return written.count(b'"') == text.count(b'"')


def strict_object(text: bytes) -> dict[str, Any]:
    """Return the JSON object in ``text``; ValueError as ``strict_json``, and for any other value."""
    value = strict_json(text)
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - the value is wrong, not our caller
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise DuplicateMember("a member is given twice")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


_STRICT: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse)
_NUMBERS_AS_TEXT: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse, parse_int=str, parse_float=str
)
_read: Final = msgspec.json.Decoder().decode
_write: Final = msgspec.json.Encoder().encode
