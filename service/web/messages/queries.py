"""Query strings and path parameters: from text to types, or ``validation_failed``."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, Union, get_args, get_origin
from urllib.parse import unquote_plus

import msgspec
from msgspec import Struct

from service.errors import ValidationFailed
from service.kernel.value_rules import MAX_ID
from service.web.messages.faults import check_text, faults_of, refusal_for

MAX_PARAMETERS: Final = 100

_YEAR: Final = re.compile(r"[0-9]{4}-")
_ID: Final = re.compile(r"[1-9][0-9]{0,18}")

S = TypeVar("S", bound=Struct)


class Query(Generic[S]):
    """Reads the query strings of one operation as ``kind``."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind
        fields = msgspec.structs.fields(kind)
        self._optional = not any(field.required for field in fields)
        self._lists = {
            field.encode_name: choices for field in fields if (choices := _choices_of(field.type)) is not None
        }
        self._never_text = {field.encode_name for field in fields if str not in _kinds_of(field.type)}
        self._times = {field.encode_name for field in fields if datetime in _kinds_of(field.type)}

    def read(self, query_string: str) -> S:
        """Return the parameters of ``query_string`` (without ``?``).

        A list is one parameter whose values are separated by commas. Raises ValidationFailed for a parameter
        that is unknown, repeated or not UTF-8, or has an invalid value.
        """
        if not query_string and self._optional:
            return self._kind()
        values: dict[str, Any] = _parameters(query_string) if query_string else {}
        self._refuse_lax_forms(values)
        for name in self._lists.keys() & values.keys():
            values[name] = _chosen(name, values[name], self._lists[name])
        try:
            return msgspec.convert(values, self._kind, strict=False)
        except msgspec.ValidationError as error:
            faults = faults_of(error, values, self._kind, "query", strict=False)
            # A value within a list is no parameter of its own, and a parameter is named once.
            by_name = {self._parameter_of(field): message for field, message in reversed(faults)}
            raise ValidationFailed(*reversed(by_name.items())) from None

    def _parameter_of(self, field: str) -> str:
        name = field.partition("[")[0]
        return name if name in self._lists else field

    def _refuse_lax_forms(self, values: dict[str, str]) -> None:
        """Raise ValidationFailed for what msgspec would read, though it is documented nowhere."""
        for name in self._never_text & values.keys():
            if values[name].lower() == "null":  # would be None: as if the filter were not there
                raise ValidationFailed((name, "Leave the parameter out instead of sending null"))
        for name in self._times & values.keys():
            if not _YEAR.match(values[name]):  # a number would be seconds since 1970
                raise ValidationFailed((name, "Expected a time such as 2026-11-21T02:33:53Z"))


@cache
def query_of(kind: type[S]) -> Query[S]:
    """Return the reader of ``kind``, made once."""
    return Query(kind)


def _choices_of(kind: Any) -> tuple[str, ...] | None:
    """Return the allowed values of a parameter that is a list; () if its items are no ``Literal``.

    None for any other parameter.
    """
    if get_origin(kind) in (Annotated, Union, UnionType):
        return next((choices for choices in map(_choices_of, get_args(kind)) if choices is not None), None)
    if get_origin(kind) is not list:
        return None
    (item,) = get_args(kind)
    return get_args(item) if get_origin(item) is Literal else ()


def _kinds_of(kind: Any) -> set[Any]:
    """Return the types that a parameter of the type ``kind`` may have."""
    if get_origin(kind) is Annotated:
        return _kinds_of(kind.__origin__)
    if get_origin(kind) in (Union, UnionType):
        return set().union(*map(_kinds_of, get_args(kind)))
    return {kind}


def _chosen(name: str, text: str, choices: tuple[str, ...]) -> list[str]:
    chosen = list(dict.fromkeys(text.split(",")))
    if choices and not set(chosen) <= set(choices):
        raise ValidationFailed((name, f"Expected one or more of {', '.join(choices)}, separated by commas"))
    return chosen


def no_query(query_string: str) -> None:
    """Raise ValidationFailed for any parameter. An ignored ``dryRun`` would make a real change."""
    if query_string:
        for name in _parameters(query_string):
            raise ValidationFailed((_shown(name), "There is no such parameter"))


def _parameters(query_string: str) -> dict[str, str]:
    values: dict[str, str] = {}
    # Separators as in application/x-www-form-urlencoded of the URL standard.
    for part in query_string.split("&", MAX_PARAMETERS):
        name, _, value = part.partition("=")
        try:
            name, value = unquote_plus(name, errors="strict"), unquote_plus(value, errors="strict")
        except UnicodeDecodeError:
            raise ValidationFailed((_shown(name), "The parameter is not UTF-8")) from None
        if name in values:
            raise ValidationFailed((_shown(name), "The parameter is given twice"))
        check_text(value, name)
        values[name] = value
    return values


def _shown(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,39}", name) else "query"


def path_reader(name: str, kind: Any) -> Callable[[str], Any] | None:
    """Return a parser of the path parameter ``name`` into ``kind``; None if ``kind`` is plain text.

    ValidationFailed has the field ``name``. An ``int`` is an id in canonical decimal form, so that no two
    paths mean the same record.
    """
    if kind is str:
        return None
    if kind is int:
        return lambda text: _id(name, text)

    def read(text: str) -> Any:
        try:
            return msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError as error:
            raise refusal_for(error, name) from None

    return read


def _id(name: str, text: str) -> int:
    if _ID.fullmatch(text) is None or (number := int(text)) > MAX_ID:
        raise ValidationFailed((name, f"Expected an integer from 1 to {MAX_ID}"))
    return number
