"""All faults of a value against a type: the place of each, and the expected value.

The sentences are our own. msgspec finds the first fault alone, and uses the words of Python's types.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from typing import Any, Final, TypeAlias, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.sentences import expected, kinds_of, metas_of

Keys: TypeAlias = tuple[str | int, ...]
Fault: TypeAlias = tuple[Keys, Sentence]

MOST: Final = 100
"""Maximum number of faults reported for one value."""
NO_FIELD: Final = sentence("unknown_field")
REQUIRED: Final = sentence("required")
IN_UTC: Final = sentence("not_in_years")


def type_faults(value: Any, kind: Any, *, strict: bool = True) -> list[Fault]:
    """Return at most ``MOST`` faults of ``value``, plain JSON, as a value of ``kind``; empty if it is valid.

    The faults include those of texts against the rules that the type carries (``value_rules.bounds_of``). Not
    ``strict``: texts may stand for numbers, as in a query. A message never repeats a value. Our own refusals
    of a whole object (a ValueError of ``__post_init__``) are passed on.
    """
    return [(keys, message) for keys, message, _ in islice(_faults(value, kind, (), strict), MOST)]


_Found: TypeAlias = tuple[Keys, Sentence, bool]
"""A fault, and whether the type refuses it: else only a rule does."""


def _faults(value: Any, kind: Any, keys: Keys, strict: bool) -> Iterator[_Found]:
    try:
        converted = msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        within = list(islice(_within(value, kind, keys, strict), MOST))
        if not any(of_type for _, _, of_type in within):
            yield keys, _message(error, value, kind), True
        yield from within
        return
    if fault := _rule_fault(converted, kind):
        yield keys, fault, False
    elif isinstance(value, dict | list):
        yield from _within(value, kind, keys, strict)


def _message(error: msgspec.ValidationError, value: Any, kind: Any) -> Sentence:
    if error.__cause__ is not None:  # of a __post_init__
        return Sentence(str(error).partition(" - at `$")[0])
    may_be = isinstance(value, str) and str in kinds_of(kind)
    fault = _rule_fault(value, kind) if may_be else None
    return fault or expected(kind, value)


def _rule_fault(value: Any, kind: Any) -> Sentence | None:
    if isinstance(value, datetime):
        try:
            value.astimezone(UTC)
        except OverflowError:
            return IN_UTC
    if not isinstance(value, str | int | dict) or isinstance(value, bool):
        return None
    rules: Iterator[Callable[[Any], Sentence | None]] = (
        meta.extra["rule"] for meta in metas_of(kind) if meta.extra and "rule" in meta.extra
    )
    return next((fault for rule in rules if (fault := rule(value))), None)


def _within(value: Any, kind: Any, keys: Keys, strict: bool) -> Iterator[_Found]:
    """Yield the faults of the members of an object, or of the items of a list."""
    for plain in kinds_of(kind):
        origin = get_origin(plain) or plain
        if isinstance(value, dict) and isinstance(origin, type) and issubclass(origin, Struct):
            yield from _of_members(value, origin, keys, strict)
        elif isinstance(value, dict) and origin is dict and len(get_args(plain)) == 2:  # noqa: PLR2004
            for item in value.values():  # whose names are the client's, and may be anything
                yield from _faults(item, get_args(plain)[1], keys, strict)
        elif isinstance(value, list) and origin in (list, tuple, set, frozenset) and get_args(plain):
            for index, item in enumerate(value):
                yield from _faults(item, get_args(plain)[0], (*keys, index), strict)


def _of_members(value: dict[str, Any], kind: type[Struct], keys: Keys, strict: bool) -> Iterator[_Found]:
    fields = fields_of_struct(kind)
    if kind.__struct_config__.forbid_unknown_fields:
        for name in value:
            if name not in fields:
                yield (*keys, name), NO_FIELD, True
    for name, field in fields.items():
        if name in value:
            yield from _faults(value[name], field.type, (*keys, name), strict)
        elif field.required:
            yield (*keys, name), REQUIRED, True


@cache
def fields_of_struct(kind: type[Struct]) -> dict[str, FieldInfo]:
    """Return the fields of ``kind`` by their names in JSON."""
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}
