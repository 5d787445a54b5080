"""Faults of rejected values: the field of each, and the expected value; none echoes a value."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from msgspec import Struct

from service.errors import ValidationFailed
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.text import unseen
from service.kernel.type_faults import IN_UTC, MOST, Keys, fields_of_struct, type_faults

WHOLE: Final = "body"
"""The field named in faults of the whole body."""

_FIELD: Final = re.compile(r"[A-Za-z0-9_.\[\]]{1,80}")


def faults_of(
    value: Any, kind: Any, whole: str = WHOLE, *, strict: bool = True
) -> list[tuple[str, Sentence]]:
    """Return the faults of ``value``, plain JSON that is no ``kind``: field and message.

    The field is a dotted camelCase path, ``whole`` for the whole value and for a name that does not look like
    one. At most ``MOST``, and at least one.
    """
    faults = [
        (shown_field(path_of(keys), whole), message)
        for keys, message in type_faults(value, kind, strict=strict)
    ]
    return faults or [(whole, sentence("other_form"))]


def refuse(faults: Iterable[tuple[str, Sentence]]) -> None:
    """Raise ValidationFailed with the first ``MOST`` faults, of each field one, if there are any."""
    by_field: dict[str, Sentence] = {}
    for field, message in faults:
        by_field.setdefault(field, message)
        if len(by_field) == MOST:
            break
    if by_field:
        raise ValidationFailed(*by_field.items())


def path_of(keys: Keys) -> str:
    """Return the names and places of ``keys`` as a path: ``roles[0].name``."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def nul_faults(value: Any, field: str = "") -> Iterator[tuple[str, Sentence]]:
    """Yield each text, or name of a member, of plain JSON that has a NUL, which PostgreSQL can't store."""
    if isinstance(value, str):
        if "\0" in value:
            yield shown_field(field), unseen("\0")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from nul_faults(name, field)
            yield from nul_faults(inner, below(field, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from nul_faults(inner, f"{field}[{index}]")


def check_text(value: Any, field: str = "") -> None:
    """Raise ValidationFailed for plain JSON values with a NUL: see ``nul_faults``."""
    refuse(islice(nul_faults(value, field), MOST))


def check_times(value: Any) -> None:
    """Refuse a value that was read with a time that has no date in UTC: its year would be 0 or 10000.

    Raises ValidationFailed; the database and answers have times in UTC.
    """
    refuse(_time_faults(value, ""))


def _time_faults(value: Any, field: str) -> Iterator[tuple[str, Sentence]]:
    if isinstance(value, datetime):
        try:
            value.astimezone(UTC)
        except OverflowError:
            yield shown_field(field), IN_UTC
    elif isinstance(value, Struct):
        for name, member in fields_of_struct(type(value)).items():
            yield from _time_faults(getattr(value, member.name), below(field, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _time_faults(inner, f"{field}[{index}]")


def below(place: str, name: str) -> str:
    """Return the path of the member ``name`` of the object at ``place``."""
    return f"{place}.{name}" if place else name


def shown_field(field: str, whole: str = WHOLE) -> str:
    """Return ``field`` if it looks like a name, so that a message may repeat it; else ``whole``."""
    return field if _FIELD.fullmatch(field) else whole
