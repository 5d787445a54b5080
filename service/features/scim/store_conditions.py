"""SCIM filters and orders as SQL, on ``sys.scim_user`` with ``sys.user``, and ``sys.scim_group``."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import sqlalchemy as sa
from msgspec import Struct

from service.features.scim.attributes import ScimFault, id_of
from service.features.scim.filters import Both, Comparison, Filter, Not, Place, Present, Value, Within
from service.features.scim.schema import scim_group, scim_member, scim_user
from service.kernel.domains import plain_address
from service.kernel.text import name_key
from service.records.database.filters import folded, like_part
from service.records.schema.rights import user

Condition = sa.ColumnElement[bool]


class Column(Struct, frozen=True):
    """The column of an attribute: the SQL form for comparison, and ``key``, the same form of a value.

    ``number`` is the id that is otherwise compared as text: an index finds it.
    """

    sql: sa.ColumnElement[Any]
    key: Callable[[str], str | sa.ColumnElement[str]] = str
    number: sa.ColumnElement[int] | None = None


def _id(column: sa.ColumnElement[int]) -> Column:
    return Column(sa.cast(column, sa.Text), number=column)


def _shown_time(column: sa.ColumnElement[Any]) -> Column:
    return Column(sa.func.date_trunc("milliseconds", column))


_EMAIL: Final = Column(user.c.email_folded, lambda text: folded(plain_address(text)))
USER_COLUMNS: Final[Mapping[str, Column]] = {
    "id": _id(user.c.id),
    "externalId": Column(scim_user.c.external_id),
    "userName": Column(user.c.user_name_key, name_key),
    "name.formatted": Column(scim_user.c.formatted_name_folded, folded),
    "displayName": Column(scim_user.c.display_name_folded, folded),
    "active": Column(user.c.status == "enabled"),
    "preferredLanguage": Column(sa.func.lower(user.c.language), str.lower),
    "timezone": Column(sa.func.lower(user.c.time_zone), str.lower),
    "emails": _EMAIL,
    "emails.value": _EMAIL,
    "emails.type": Column(scim_user.c.email_type_folded, folded),
    "emails.primary": Column(sa.case((user.c.email.is_not(None), sa.true()))),
    "meta.created": _shown_time(user.c.create_time),
    "meta.lastModified": _shown_time(user.c.update_time),
}
GROUP_COLUMNS: Final[Mapping[str, Column]] = {
    "id": _id(scim_group.c.id),
    "externalId": Column(scim_group.c.external_id),
    "displayName": Column(scim_group.c.display_name_folded, folded),
    "meta.created": _shown_time(scim_group.c.create_time),
    "meta.lastModified": _shown_time(scim_group.c.update_time),
}
_MEMBERS: Final = "members"
_MEMBER: Final = _id(scim_member.c.user_id)


def order_of(
    place: Place | None, columns: Mapping[str, Column], *, descending: bool
) -> list[sa.ColumnElement[Any]]:
    """Return the order by an attribute, and by id; raises ScimFault for an unsupported attribute.

    Missing values come last, or first if ``descending`` (RFC 7644 §3.4.2.3).
    """
    record_id = columns["id"].number
    assert record_id is not None  # noqa: S101 - of each kind
    if place is None:
        return [record_id]
    column = columns.get(place.name)
    if column is None:
        raise ScimFault("invalidValue", f"sortBy: {place.name} can't be sorted by")
    values = column.sql if column.number is None else column.number
    return [values.desc() if descending else values.asc(), record_id]


def condition(term: Filter, columns: Mapping[str, Column], within: str = "") -> Condition:
    """Return the SQL of a filter; ``within`` is the attribute that owns its sub-attributes.

    Raises ScimFault for an attribute that can't be filtered by.
    """
    match term:
        case Comparison() | Present():
            return _single(term, columns, within)
        case Not(inner):
            return sa.not_(condition(inner, columns, within))
        case Within(attribute, inner):
            below = condition(inner, columns, attribute.name)
            if attribute.name == _MEMBERS:
                return _has_member(below)
            if attribute.name != "emails":
                raise _refused(Place(attribute))
            return user.c.email.is_not(None) & below
        case _:
            conditions = [condition(each, columns, within) for each in term.terms]
            return sa.and_(*conditions) if isinstance(term, Both) else sa.or_(*conditions)


def _single(term: Comparison | Present, columns: Mapping[str, Column], within: str) -> Condition:
    place = term.place
    name = f"{within}.{place.name}" if within else place.name
    if columns is GROUP_COLUMNS and place.attribute.name == _MEMBERS:
        return _of_members(term)
    column = _MEMBER if name == f"{_MEMBERS}.value" else columns.get(name)
    if column is None:
        raise _refused(place)
    return _test(term, column)


def _of_members(term: Comparison | Present) -> Condition:
    """Return the SQL of an expression about the members of a group: any of them, or none for ``ne``."""
    if term.place.part is not None and term.place.part.name != "value":
        raise _refused(term.place)
    if isinstance(term, Present):
        return _has_member(sa.true())
    if term.value is None:
        has = _has_member(sa.true())
        return sa.not_(has) if term.operator == "eq" else has
    if term.operator == "ne":
        return sa.not_(_has_member(_test(Comparison(term.place, "eq", term.value), _MEMBER)))
    return _has_member(_test(term, _MEMBER))


def _has_member(condition: Condition) -> Condition:
    return sa.exists().where(scim_member.c.group_id == scim_group.c.id, condition)


def _test(term: Comparison | Present, column: Column) -> Condition:
    """Return the SQL of one expression, which is never NULL."""
    sql = column.sql
    if isinstance(term, Present):
        kept = sql.is_not(None)
        return kept & (sql != "") if term.place.last.kind == "string" else kept
    if term.place.last.kind == "dateTime" and isinstance(term.value, str):
        raise _refused(term.place)  # a part of a time, as a text
    if term.operator in ("eq", "ne"):
        same = _same(column, term.value)
        return same if term.operator == "eq" else sa.not_(same)
    if term.value is None:
        return sa.false()
    if isinstance(term.value, str) and term.operator in _ORDERS:
        sql = sql.collate("C")
    compared = _OPERATORS[term.operator](sql, _key(column, term.value))
    return sa.func.coalesce(compared, sa.false())


def _key(column: Column, value: Value) -> sa.ColumnElement[Any]:
    key = column.key(value) if isinstance(value, str) else value
    return key if isinstance(key, sa.ColumnElement) else sa.literal(key)


def _same(column: Column, value: Value) -> Condition:
    if value is None:
        return column.sql.is_(None)
    if column.number is not None:
        number = id_of(value) if isinstance(value, str) else None
        return sa.false() if number is None else column.number == number
    # No index serves IS NOT DISTINCT FROM.
    return sa.and_(column.sql == _key(column, value), column.sql.is_not(None))


def _refused(place: Place) -> ScimFault:
    return ScimFault("invalidFilter", f"{place.name} can't be filtered by")


_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Condition]]] = {
    "co": lambda sql, value: like_part(sql, "%", value, "%"),
    "sw": lambda sql, value: like_part(sql, "", value, "%"),
    "ew": lambda sql, value: like_part(sql, "%", value, ""),
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}
_ORDERS: Final = frozenset({"gt", "ge", "lt", "le"})
