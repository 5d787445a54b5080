"""Filters of lists: a dataclass whose fields are annotated with the condition that each one adds.

@dataclass(frozen=True, slots=True)
class RoleFilter:
    role_name: Annotated[str | None, contains(role.c.role_name_key, name_key)] = None
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Text,
    and_,
    cast,
    func,
    literal,
    not_,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB

Conditions = tuple[ColumnElement[bool], ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of a filter's field: ``of`` takes the field's value and returns SQL conditions."""

    of: Callable[[Any], Conditions]


ELSEWHERE: Final = Condition(lambda _value: ())
"""For a field that the list applies itself."""


def equals(column: ColumnElement[Any]) -> Condition:
    """Require that ``column`` equals the value."""
    return Condition(lambda value: (column == value,))


def one_of(column: ColumnElement[Any]) -> Condition:
    """Require that ``column`` equals one of the values."""

    def conditions(values: Collection[Any]) -> Conditions:
        return (column.in_(values),)

    return Condition(conditions)


def contains(column: ColumnElement[Any], key: Callable[[str], str] = str) -> Condition:
    """Require that ``column`` contains ``key`` of the value, taken literally (no wildcards)."""
    return Condition(lambda value: (column.contains(key(value), autoescape=True),))


def folded(text: str) -> ColumnElement[str]:
    """Return the SQL of the form in which ``schema.base.folded`` keeps texts.

    The database folds both sides, so that a text is found by itself whatever Unicode Python knows.
    """
    return func.sys.folded(text, type_=Text())


def contains_folded(column: ColumnElement[Any], key: Callable[[str], str] = str) -> Condition:
    """Require that ``column``, one of ``schema.base.folded``, contains ``key`` of the value in any case."""
    return Condition(lambda value: (like_part(column, "%", folded(key(value)), "%"),))


def like_part(
    column: ColumnElement[Any], before: str, part: ColumnElement[str], after: str
) -> ColumnElement[bool]:
    r"""Return the condition that ``column`` is like ``part``, taken literally, between two patterns.

    ``\`` is the escape character of LIKE. PostgreSQL evaluates the pattern first, so it can use an index.
    """
    for character in ("\\", "%", "_"):
        part = func.replace(part, character, f"\\{character}", type_=Text())
    return column.like(before + part + after)


def whether(condition: ColumnElement[bool]) -> Condition:
    """Require that ``condition``, which is never NULL, is the value."""
    return Condition(lambda value: (condition if value else not_(condition),))


def any_of(*conditions: Condition) -> Condition:
    """Require at least one of ``conditions``."""
    return Condition(lambda value: (or_(*(and_(*condition.of(value)) for condition in conditions)),))


def at_least(column: ColumnElement[Any]) -> Condition:
    """Require that ``column`` is not less than the value."""
    return Condition(lambda value: (column >= value,))


def below(column: ColumnElement[Any]) -> Condition:
    """Require that ``column`` is less than the value."""
    return Condition(lambda value: (column < value,))


def conditions_of(criteria: object) -> Conditions:
    """Return the conditions of all fields of the filter ``criteria``; a field that is None adds none.

    TypeError for a field without a condition: it would be ignored, and the list would show too much.
    """
    kind: Any = type(criteria)
    given = ((getattr(criteria, name), condition) for name, condition in _declared(kind).items())
    return tuple(clause for value, condition in given if value is not None for clause in condition.of(value))


@cache
def _declared(kind: type[Any]) -> dict[str, Condition]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: _condition(kind, field.name, hints[field.name]) for field in fields(kind)}


def _condition(kind: type[Any], name: str, hint: Any) -> Condition:
    conditions = [argument for argument in get_args(hint) if isinstance(argument, Condition)]
    if get_origin(hint) is not Annotated or len(conditions) != 1:
        raise TypeError(f"{kind.__name__}.{name} has no condition, or several")
    return conditions[0]


_IDS: Final = ARRAY(BigInteger())


def array_of_ids(ids: Iterable[int]) -> ColumnElement[Any]:
    """Return an array with ``ids``, which are sent as one text.

    psycopg converts a list item by item, and SQLAlchemy writes a parameter for each: with twenty thousand
    both keep the event loop for a twentieth of a second or longer.
    """
    return cast(literal(f"{{{','.join(map(str, ids))}}}", Text), _IDS)


def array_of_texts(texts: Iterable[str]) -> ColumnElement[Any]:
    """Return an array with ``texts``, which are sent as one text as well."""
    listed = cast(literal(msgspec.json.encode([*texts]).decode(), Text), JSONB)
    return func.array(select(func.jsonb_array_elements_text(listed)).scalar_subquery(), type_=ARRAY(Text()))


def among(column: ColumnElement[Any], ids: Collection[int]) -> ColumnElement[bool]:
    """Return the condition that ``column`` is one of ``ids``; none for no ids.

    They are one parameter: a statement takes fewer parameters than there may be ids. PostgreSQL reads its
    text once, since the array stands in a subquery: compared with a cast text, each row would read it anew.
    """
    return column.in_(select(func.unnest(array_of_ids(ids), type_=BigInteger())))


def each_of(ids: Collection[int]) -> ColumnElement[int]:
    """Return a column with one row for each of ``ids``."""
    return func.unnest(array_of_ids(ids)).column_valued("listed")
