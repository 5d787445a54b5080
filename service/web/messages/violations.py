"""Translates msgspec's validation errors into fields of ``validation_failed``, without echoing values."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from service.errors import ValidationFailed

WHOLE: Final = "body"
"""The field named in faults of the whole body."""

# Greedy: the last match in the text, since names that clients send may imitate one.
_PLACED: Final = re.compile(r"(?s)(.*) - at `(?:key` in `)?\$\.?(.*)`")
_MISSING: Final = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN: Final = re.compile(r"(?s)Object contains unknown field `(.*)`")
_QUOTES_VALUE: Final = re.compile(r"(?s)Invalid (?:enum )?value .*")
_QUOTES_PATTERN: Final = re.compile(r"(?s)Expected `str` matching regex .*")
_FIELD: Final = re.compile(r"[A-Za-z0-9_.\[\]]{1,80}")


def refusal_for(error: msgspec.ValidationError, whole: str = WHOLE) -> ValidationFailed:
    """Return the refusal for ``error``: the field as a dotted camelCase path, and a readable message.

    ``whole`` is the field for faults of the whole input.

    Our own messages (a ValueError raised by ``__post_init__``) are passed on. Values are never repeated, and
    the name of an unknown field only if it looks like a name.
    """
    place, message = _described(str(error), own=error.__cause__ is not None)
    return _failed(place, message, whole)


def _described(text: str, *, own: bool) -> tuple[str, str]:
    placed = _PLACED.fullmatch(text)
    message, place = placed.groups() if placed else (text, "")
    if own:
        return place, message
    if match := _MISSING.fullmatch(message):
        return _below(place, match[1]), "The field is required"
    if match := _UNKNOWN.fullmatch(message):
        return _below(place, match[1]), "There is no such field"
    if _QUOTES_VALUE.fullmatch(message):
        return place, "The value is not one of those allowed"
    if _QUOTES_PATTERN.fullmatch(message):
        return place, "The text does not have the required form"
    return place, message.replace("`", "")


def check_text(value: Any, field: str = "") -> None:
    """Refuse plain JSON values with a NUL in a text or in the name of a member.

    Raises ValidationFailed with the first such field; PostgreSQL can't store the character.
    """
    if isinstance(value, str):
        if "\0" in value:
            raise _failed(field, "The text holds a NUL character")
    elif isinstance(value, dict):
        for name, below in value.items():
            check_text(name, field)
            check_text(below, _below(field, name))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            check_text(below, f"{field}[{index}]")


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _failed(field: str, message: str, whole: str = WHOLE) -> ValidationFailed:
    return ValidationFailed((field if _FIELD.fullmatch(field) else whole, message))
