"""Faults of a refused value: the field of each, and what is expected; none echoes a value."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

from service.errors import ValidationFailed

WHOLE: Final = "body"
"""The field named in faults of the whole body."""
NO_FIELD: Final = "There is no such field"

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
        return below(place, match[1]), NO_FIELD
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


def check_times(value: Any, field: str = "") -> None:
    """Refuse a value that was read with a time that has no date in UTC: its year would be 0 or 10000.

    Raises ValidationFailed with the first such field; the database and answers have times in UTC.
    """
    if isinstance(value, datetime):
        try:
            value.astimezone(UTC)
        except OverflowError:
            raise ValidationFailed((shown_field(field), "must be from year 1 to 9999 in UTC")) from None
    elif isinstance(value, Struct):
        for name, member in _fields(type(value)).items():
            check_times(getattr(value, member.name), below(field, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            check_times(inner, f"{field}[{index}]")


def below(place: str, name: str) -> str:
    """Return the path of the member ``name`` of the object at ``place``."""
    return f"{place}.{name}" if place else name


def shown_field(field: str, whole: str = WHOLE) -> str:
    """Return ``field`` if it looks like a name, so that a message may repeat it; else ``whole``."""
    return field if _FIELD.fullmatch(field) else whole


MOST: Final = 100
"""Faults that are told of one value."""


def faults_of(
    error: msgspec.ValidationError, value: Any, kind: Any, whole: str = WHOLE, *, strict: bool = True
) -> list[tuple[str, str]]:
    """Return the faults of ``value``, for which reading it as ``kind`` raised ``error``: field and message.

    ``value`` is plain JSON. ``whole`` is the field for faults of the whole value. A fault that only the first
    reading finds, such as a rule about several fields, is told where there is no other.
    """
    first = islice(_faults(value, kind, "", strict), MOST)
    return [(shown_field(place, whole), message) for place, message in first] or [fault_of(error, whole)]


def _faults(value: Any, kind: Any, place: str, strict: bool) -> Iterator[tuple[str, str]]:
    try:
        msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        leaf = _leaf(error, kind, place)
    else:
        return
    # One by one: the body may have many more faults than are told.
    within = _faults_within(value, kind, place, strict)
    yield next(within, leaf)
    yield from within


def _faults_within(value: Any, kind: Any, place: str, strict: bool) -> Iterator[tuple[str, str]]:
    """Yield the faults of the members of an object, or of the items of a list."""
    for plain in _kinds(kind):
        if isinstance(value, dict) and isinstance(plain, type) and issubclass(plain, Struct):
            yield from _faults_of_members(value, plain, place, strict)
        elif isinstance(value, list) and get_origin(plain) in (list, tuple, set, frozenset):
            for index, item in enumerate(value):
                yield from _faults(item, get_args(plain)[0], f"{place}[{index}]", strict)


def _faults_of_members(
    value: dict[str, Any], kind: type[Struct], place: str, strict: bool
) -> Iterator[tuple[str, str]]:
    fields = _fields(kind)
    if kind.__struct_config__.forbid_unknown_fields:
        for name in value.keys() - fields.keys():
            yield below(place, name), NO_FIELD
    for name, field in fields.items():
        if name in value:
            yield from _faults(value[name], field.type, below(place, name), strict)
        elif field.required:
            yield below(place, name), "The field is required"


@cache
def _fields(kind: type[Struct]) -> dict[str, FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _leaf(error: msgspec.ValidationError, kind: Any, place: str) -> tuple[str, str]:
    at, message = fault_of(error, "", expected(kind))
    return (f"{place}{'' if at.startswith('[') or not place else '.'}{at}" if at else place), message


def expected(kind: Any) -> str:
    """Return what a value of ``kind`` must be, half a sentence ("must …"); "" where its type says it."""
    choices: list[str] = []
    for plain in _kinds(kind):
        if get_origin(plain) is Literal:
            choices += map(str, get_args(plain))
    if choices:
        return f"must be one of: {', '.join(choices)}"
    return next((meta.extra["says"] for meta in _metas(kind) if meta.extra and "says" in meta.extra), "")


def _kinds(kind: Any) -> Iterator[Any]:
    """Yield the alternatives of a type, without annotations."""
    if get_origin(kind) is Annotated:
        yield from _kinds(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from _kinds(each)
    else:
        yield kind


def _metas(kind: Any) -> Iterator[msgspec.Meta]:
    if get_origin(kind) is Annotated:
        plain, *metas = get_args(kind)
        yield from (meta for meta in metas if isinstance(meta, msgspec.Meta))
        yield from _metas(plain)
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from _metas(each)
