"""The rule of a JSON object whose members nobody has declared, such as the ``meta`` of a menu."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from service.kernel.unseen import unseen_fault

MOST_BYTES: Final = 4096
"""The longest object as JSON, in bytes of UTF-8 without spaces."""
MOST_LEVELS: Final = 4
"""The most levels of objects and lists; the object itself is the first."""
MOST_KEYS: Final = 64
"""The most keys of each object."""

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
    if fault := next(_faults(value, 1), None):
        return fault
    fits = len(msgspec.json.encode(value)) <= MOST_BYTES
    return None if fits else f"must have at most {MOST_BYTES} bytes as JSON"


def _faults(value: Any, level: int) -> Iterator[str]:
    match value:
        case dict() | list() if level > MOST_LEVELS:
            yield f"must have at most {MOST_LEVELS} levels"
        case dict():
            if len(value) > MOST_KEYS:
                yield f"must have at most {MOST_KEYS} keys in an object"
            if not all(isinstance(key, str) and _KEY.fullmatch(key) for key in value):
                yield (
                    "must have keys of at most 64 letters, digits and _ . - that begin with a letter, "
                    "not constructor or prototype"
                )
            yield from _faults(list(value.values()), level)
        case list():
            for member in value:
                yield from _faults(member, level + 1)
        case str() if (fault := unseen_fault(value, lines=True)) is not None:
            yield fault
        case int() | float() if value != 0 and not _SMALLEST <= abs(value) <= _LARGEST:
            yield f"must have numbers from {_SMALLEST} to {_LARGEST}, or below 0 likewise"
        case None | str() | int() | float():
            pass
        case _:
            yield "must have only texts, numbers, true, false, null, lists and objects"
