"""The rule of a JSON object whose members nobody has declared, such as the ``meta`` of a menu."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from service.kernel.unseen import unseen_fault

MOST_BYTES: Final = 4096
"""The longest object as JSON, in bytes of UTF-8 without spaces."""
MOST_LEVELS: Final = 4
"""The most levels of objects and lists; the object itself is the first."""
MOST_KEYS: Final = 64
"""The most keys of all its objects together."""

# A script that merges objects would write to the prototype of all of its objects.
KEY: Final = r"^(?!(?:constructor|prototype)$)[A-Za-z][A-Za-z0-9_.-]{0,63}$"
"""The pattern of a key, as JSON Schema has it."""
_KEY: Final = re.compile(KEY)
# What every JSON reader keeps exactly (RFC 8259 §6); PostgreSQL stores all digits of other numbers.
_LARGEST: Final = 2**53 - 1
_SMALLEST: Final = 1e-9


def free_object_fault(value: dict[str, Any]) -> str | None:
    """Return why ``value`` is refused, half a sentence ("must …"); None if it is a small JSON object.

    Small is what the bounds of this module say. Its keys are names, so that none means something to a
    script, its texts can be read, and its numbers mean the same everywhere.
    """
    values, keys = 1, 0
    level: list[Any] = [value]
    for _ in range(MOST_LEVELS):
        inner: list[Any] = []
        for part in level:
            keys += len(part) if isinstance(part, dict) else 0
            values += len(part)
            if values > MOST_BYTES:
                return _TOO_LONG
            if isinstance(part, dict) and (fault := _key_fault(part)):
                return fault
            members = part.values() if isinstance(part, dict) else part
            if fault := next(filter(None, map(_plain_fault, members)), None):
                return fault
            inner += [member for member in members if isinstance(member, dict | list)]
        level = inner
    if level:
        return f"must have at most {MOST_LEVELS} levels"
    if keys > MOST_KEYS:
        return f"must have at most {MOST_KEYS} keys"
    return _TOO_LONG if len(msgspec.json.encode(value)) > MOST_BYTES else None


_TOO_LONG: Final = f"must have at most {MOST_BYTES} bytes as JSON"


def _key_fault(part: dict[Any, Any]) -> str | None:
    if all(isinstance(key, str) and _KEY.fullmatch(key) for key in part):
        return None
    return (
        "must have keys of 1 to 64 letters, digits and _ . -, the first one a letter, "
        "and none that is constructor or prototype"
    )


def _plain_fault(value: Any) -> str | None:
    match value:
        case bool() | None | dict() | list():
            return None
        case str():
            return unseen_fault(value, lines=True)
        case int() | float():
            fits = value == 0 or _SMALLEST <= abs(value) <= _LARGEST
            return None if fits else f"must have numbers from {_SMALLEST} to {_LARGEST}, or below 0 likewise"
    return "must have only texts, numbers, true, false, null, lists and objects"
