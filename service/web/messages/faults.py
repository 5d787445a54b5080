"""All faults of a value that was refused, by a second reading: the field of each, and what is expected."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

from service.web.messages.violations import WHOLE, below, fault_of, shown_field

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
            yield below(place, name), "There is no such field"
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
