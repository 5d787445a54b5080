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
    """Return the refusal for ``error``: see ``fault_of``."""
    return ValidationFailed(fault_of(error, whole))


def fault_of(error: msgspec.ValidationError, whole: str = WHOLE, expected: str = "") -> tuple[str, str]:
    """Return the field of ``error``, as a dotted camelCase path, and a readable message.

    ``whole`` is the field for faults of the whole input; ``expected`` says what the value must be ("must …").
    Our own messages (a ValueError raised by ``__post_init__``) are passed on. Values are never repeated, and
    the name of an unknown field only if it looks like a name.
    """
    place, message = _described(str(error), own=error.__cause__ is not None, expected=expected)
    return shown_field(place, whole), message


def _described(text: str, *, own: bool, expected: str) -> tuple[str, str]:
    placed = _PLACED.fullmatch(text)
    message, place = placed.groups() if placed else (text, "")
    if own:
        return place, message
    if match := _MISSING.fullmatch(message):
        return below(place, match[1]), "The field is required"
    if match := _UNKNOWN.fullmatch(message):
        return below(place, match[1]), "There is no such field"
    if _QUOTES_VALUE.fullmatch(message):
        return place, f"The value {expected or 'is not one of those allowed'}"
    if _QUOTES_PATTERN.fullmatch(message):
        return place, f"The text {expected or 'does not have the required form'}"
    return place, message.replace("`", "")


def check_text(value: Any, field: str = "") -> None:
    """Refuse plain JSON values with a NUL in a text or in the name of a member.

    Raises ValidationFailed with the first such field; PostgreSQL can't store the character.
    """
    if isinstance(value, str):
        if "\0" in value:
            raise ValidationFailed((shown_field(field), "The text holds a NUL character"))
    elif isinstance(value, dict):
        for name, inner in value.items():
            check_text(name, field)
            check_text(inner, below(field, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            check_text(inner, f"{field}[{index}]")


def below(place: str, name: str) -> str:
    """Return the path of the member ``name`` of the object at ``place``."""
    return f"{place}.{name}" if place else name


def shown_field(field: str, whole: str = WHOLE) -> str:
    """Return ``field`` if it looks like a name, so that a message may repeat it; else ``whole``."""
    return field if _FIELD.fullmatch(field) else whole
