"""``sys.scim_user`` and ``sys.scim_group``: what directories provision, and how it is found by filters.

Callers that change something hold ``role_rights.lock``.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.scim.attributes import ScimFault
from service.kernel.scim.filters import Both, Comparison, Filter, Not, Place, Present, Within, text_key
from service.kernel.text import name_key
from service.records.database.row_mapper import RowMapper
from service.records.schema.rights import user
from service.records.schema.scim import scim_group, scim_member, scim_user

Condition = sa.ColumnElement[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a directory says of a user that the account has no place for."""

    external_id: str | None = None
    display_name: str | None = None
    formatted_name: str | None = None
    email_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisionedUser(Known):
    """A user that a directory has provisioned; ``groups`` are the ids and names of its groups."""

    id: int
    user_name: str
    email: str | None
    status: str
    version: int
    create_time: datetime
    update_time: datetime
    groups: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group of a directory; ``members`` are the ids and names of its users, empty if they were not read."""

    id: int
    display_name: str
    external_id: str | None
    version: int
    create_time: datetime
    update_time: datetime
    members: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which resources of a directory, and which of those: ``skipped`` are left out, ``most`` follow."""

    directory: str
    term: Filter | None
    skipped: int = 0
    most: int = 200


_USER: Final = RowMapper(
    ProvisionedUser,
    user,
    without=["groups"],
    external_id=scim_user.c.external_id,
    display_name=scim_user.c.display_name,
    formatted_name=scim_user.c.formatted_name,
    email_type=scim_user.c.email_type,
)
_GROUP: Final = RowMapper(Group, scim_group, without=["members"])
_USERS: Final = scim_user.join(user, user.c.id == scim_user.c.user_id)


async def users(connection: AsyncConnection, chosen: Chosen) -> tuple[list[ProvisionedUser], int]:
    """Return users of a directory by id, and how many there are; ScimFault for a filter that is not kept."""
    conditions = [scim_user.c.directory == chosen.directory, ~scim_user.c.gone]
    if chosen.term is not None:
        conditions.append(_condition(chosen.term, _USER_COLUMNS))
    total = await _count(connection, _USERS, conditions)
    statement = sa.select(*_USER.columns).select_from(_USERS).where(*conditions).order_by(user.c.id)
    listed = await _USER.all(connection, statement.offset(chosen.skipped).limit(chosen.most))
    groups = await _pairs(connection, scim_member.c.user_id, [each.id for each in listed])
    return [replace(each, groups=groups.get(each.id, ())) for each in listed], total


async def one_user(connection: AsyncConnection, directory: str, user_id: int) -> ProvisionedUser | None:
    """Return a user of a directory, or None."""
    known = (scim_user.c.user_id == user_id) & (scim_user.c.directory == directory) & ~scim_user.c.gone
    statement = sa.select(*_USER.columns).select_from(_USERS).where(known)
    stored = await _USER.one_or_none(connection, statement)
    if stored is None:
        return None
    groups = await _pairs(connection, scim_member.c.user_id, [user_id])
    return replace(stored, groups=groups.get(user_id, ()))


async def put_user(connection: AsyncConnection, directory: str, user_id: int, known: Known) -> None:
    """Store what a directory says of a user, who is not gone from then on."""
    values = {name: getattr(known, name) for name in Known.__dataclass_fields__} | {"gone": False}
    written = upsert(scim_user).values(user_id=user_id, directory=directory, **values)
    await connection.execute(written.on_conflict_do_update(index_elements=["user_id"], set_=values))


async def forget_user(connection: AsyncConnection, user_id: int) -> None:
    """Store that a directory has deleted a user, who is no member of its groups any more."""
    of_user = scim_user.c.user_id == user_id
    await connection.execute(sa.update(scim_user).where(of_user).values(gone=True))
    mine = sa.delete(scim_member).where(scim_member.c.user_id == user_id)
    groups = (await connection.execute(mine.returning(scim_member.c.group_id))).scalars().all()
    await _raise_versions(connection, groups)


async def gone_user(connection: AsyncConnection, directory: str, user_name: str) -> int | None:
    """Return the id of the user of that name whom the directory has deleted, or None."""
    known = (scim_user.c.directory == directory) & scim_user.c.gone
    named = sa.select(user.c.id).select_from(_USERS)
    statement = named.where(known, user.c.user_name_key == name_key(user_name))
    return (await connection.execute(statement)).scalar_one_or_none()


async def groups_of(connection: AsyncConnection, user_id: int) -> list[str]:
    """Return the names of the groups of a user."""
    pairs = await _pairs(connection, scim_member.c.user_id, [user_id])
    return [name for _, name in pairs.get(user_id, ())]


async def groups(
    connection: AsyncConnection, chosen: Chosen, *, with_members: bool
) -> tuple[list[Group], int]:
    """Return groups of a directory by id, and how many there are; ScimFault for a filter that is not kept."""
    conditions = [scim_group.c.directory == chosen.directory]
    if chosen.term is not None:
        conditions.append(_condition(chosen.term, _GROUP_COLUMNS))
    total = await _count(connection, scim_group, conditions)
    statement = sa.select(*_GROUP.columns).where(*conditions).order_by(scim_group.c.id)
    listed = await _GROUP.all(connection, statement.offset(chosen.skipped).limit(chosen.most))
    if not with_members:
        return listed, total
    members = await _pairs(connection, scim_member.c.group_id, [each.id for each in listed])
    return [replace(each, members=members.get(each.id, ())) for each in listed], total


async def one_group(
    connection: AsyncConnection, directory: str, group_id: int, *, with_members: bool = True
) -> Group | None:
    """Return a group of a directory, or None."""
    known = (scim_group.c.id == group_id) & (scim_group.c.directory == directory)
    stored = await _GROUP.one_or_none(connection, sa.select(*_GROUP.columns).where(known))
    if stored is None or not with_members:
        return stored
    members = await _pairs(connection, scim_member.c.group_id, [group_id])
    return replace(stored, members=members.get(group_id, ()))


async def is_taken(connection: AsyncConnection, directory: str, display_name: str, but: int = 0) -> bool:
    """Tell whether another group of the directory has that name."""
    same = (scim_group.c.directory == directory) & (scim_group.c.display_name == display_name)
    chosen = sa.select(sa.exists().where(same, scim_group.c.id != but))
    return bool((await connection.execute(chosen)).scalar_one())


async def create_group(
    connection: AsyncConnection, directory: str, display_name: str, external_id: str | None
) -> int:
    """Write a group without members, and return its id."""
    values = {"directory": directory, "display_name": display_name, "external_id": external_id}
    written = sa.insert(scim_group).values(values).returning(scim_group.c.id)
    group_id: int = (await connection.execute(written)).scalar_one()
    return group_id


async def update_group(
    connection: AsyncConnection, group_id: int, display_name: str, external_id: str | None
) -> None:
    """Store the values of a group, and raise its version."""
    values = {"display_name": display_name, "external_id": external_id}
    await connection.execute(sa.update(scim_group).where(scim_group.c.id == group_id).values(values))
    await _raise_versions(connection, [group_id])


async def delete_group(connection: AsyncConnection, group_id: int) -> None:
    """Delete a group."""
    await connection.execute(sa.delete(scim_group).where(scim_group.c.id == group_id))


async def known_users(connection: AsyncConnection, directory: str, user_ids: Collection[int]) -> set[int]:
    """Return those of the ids that are users of the directory."""
    known = (scim_user.c.directory == directory) & ~scim_user.c.gone
    chosen = sa.select(scim_user.c.user_id).where(
        known, scim_user.c.user_id == sa.any_(sa.literal([*user_ids], _IDS))
    )
    return set((await connection.execute(chosen)).scalars())


async def change_members(
    connection: AsyncConnection, group_id: int, added: Collection[int], removed: Collection[int]
) -> None:
    """Add users to a group, and remove others."""
    if added:
        rows = [{"group_id": group_id, "user_id": user_id} for user_id in sorted(added)]
        await connection.execute(sa.insert(scim_member), rows)
    if removed:
        gone = scim_member.c.user_id == sa.any_(sa.literal([*removed], _IDS))
        await connection.execute(sa.delete(scim_member).where(scim_member.c.group_id == group_id, gone))


_IDS: Final = sa.ARRAY(sa.BigInteger())


async def _raise_versions(connection: AsyncConnection, group_ids: Collection[int]) -> None:
    if group_ids:
        raised = {"version": scim_group.c.version + 1, "update_time": sa.func.now()}
        of_groups = scim_group.c.id.in_(group_ids)
        await connection.execute(sa.update(scim_group).where(of_groups).values(raised))


async def _count(connection: AsyncConnection, rows: sa.FromClause, conditions: list[Condition]) -> int:
    counted = sa.select(sa.func.count()).select_from(rows).where(*conditions)
    return int((await connection.execute(counted)).scalar_one())


async def _pairs(
    connection: AsyncConnection, by: sa.ColumnElement[int], ids: Collection[int]
) -> dict[int, tuple[tuple[int, str], ...]]:
    """Return the groups by user, or the members by group: the ids and names of each."""
    if not ids:
        return {}
    of_user = by is scim_member.c.user_id
    other, table = (scim_member.c.group_id, scim_group) if of_user else (scim_member.c.user_id, user)
    name = scim_group.c.display_name if of_user else user.c.user_name
    rows = sa.select(by, other, name).select_from(scim_member.join(table, table.c.id == other))
    chosen = rows.where(by == sa.any_(sa.literal([*ids], _IDS))).order_by(other)
    made: dict[int, list[tuple[int, str]]] = {}
    for key, other_id, shown in await connection.execute(chosen):
        made.setdefault(key, []).append((other_id, shown))
    return {key: tuple(pairs) for key, pairs in made.items()}


@dataclass(frozen=True, slots=True)
class _Column:
    """Where the values of an attribute are: the form in which they are compared, and ``key`` of a value."""

    sql: sa.ColumnElement[Any]
    key: Callable[[str], str] = str


def _folded(column: sa.ColumnElement[Any]) -> _Column:
    return _Column(sa.func.lower(column), lambda text: text_key(text, exact=False))


def _shown_time(column: sa.ColumnElement[Any]) -> _Column:
    return _Column(sa.func.date_trunc("milliseconds", column))


_EMAIL: Final = _Column(user.c.email_key, lambda text: text_key(text, exact=False))
_USER_COLUMNS: Final[Mapping[str, _Column]] = {
    "id": _Column(sa.cast(user.c.id, sa.Text)),
    "externalId": _Column(scim_user.c.external_id),
    "userName": _Column(user.c.user_name_key, name_key),
    "name.formatted": _folded(scim_user.c.formatted_name),
    "displayName": _folded(scim_user.c.display_name),
    "active": _Column(user.c.status == "enabled"),
    "emails": _EMAIL,
    "emails.value": _EMAIL,
    "emails.type": _folded(scim_user.c.email_type),
    "emails.primary": _Column(sa.case((user.c.email.is_not(None), sa.true()))),
    "meta.created": _shown_time(user.c.create_time),
    "meta.lastModified": _shown_time(user.c.update_time),
}
_GROUP_COLUMNS: Final[Mapping[str, _Column]] = {
    "id": _Column(sa.cast(scim_group.c.id, sa.Text)),
    "externalId": _Column(scim_group.c.external_id),
    "displayName": _folded(scim_group.c.display_name),
    "meta.created": _shown_time(scim_group.c.create_time),
    "meta.lastModified": _shown_time(scim_group.c.update_time),
}
_MEMBERS: Final = "members"
_MEMBER: Final = _Column(sa.cast(scim_member.c.user_id, sa.Text))


def _condition(term: Filter, columns: Mapping[str, _Column], within: str = "") -> Condition:
    """Return the SQL of a filter; ``within`` is the attribute whose sub-attributes it is about."""
    match term:
        case Comparison() | Present():
            return _single(term, columns, within)
        case Not(inner):
            return sa.not_(_condition(inner, columns, within))
        case Within(attribute, inner):
            below = _condition(inner, columns, attribute.name)
            if attribute.name == _MEMBERS:
                return _has_member(below)
            if attribute.name != "emails":
                raise _refused(Place(attribute))
            return user.c.email.is_not(None) & below
        case _:
            conditions = [_condition(each, columns, within) for each in term.terms]
            return sa.and_(*conditions) if isinstance(term, Both) else sa.or_(*conditions)


def _single(term: Comparison | Present, columns: Mapping[str, _Column], within: str) -> Condition:
    place = term.place
    name = f"{within}.{place.name}" if within else place.name
    if columns is _GROUP_COLUMNS and place.attribute.name == _MEMBERS:
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


def _test(term: Comparison | Present, column: _Column) -> Condition:
    """Return the SQL of one expression, which is never NULL."""
    sql = column.sql
    if isinstance(term, Present):
        kept = sql.is_not(None)
        return kept & (sql != "") if term.place.last.kind == "string" else kept
    value = column.key(term.value) if isinstance(term.value, str) else term.value
    if term.operator in ("eq", "ne"):
        same = sql.is_not_distinct_from(value)
        return same if term.operator == "eq" else sa.not_(same)
    if value is None:
        return sa.false()
    return sa.func.coalesce(_OPERATORS[term.operator](sql, value), sa.false())


def _refused(place: Place) -> ScimFault:
    return ScimFault("invalidFilter", f"{place.name} can't be filtered by")


_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Condition]]] = {
    "co": lambda sql, value: sql.contains(value, autoescape=True),
    "sw": lambda sql, value: sql.startswith(value, autoescape=True),
    "ew": lambda sql, value: sql.endswith(value, autoescape=True),
    "gt": lambda sql, value: sql.collate("C") > value if isinstance(value, str) else sql > value,
    "ge": lambda sql, value: sql.collate("C") >= value if isinstance(value, str) else sql >= value,
    "lt": lambda sql, value: sql.collate("C") < value if isinstance(value, str) else sql < value,
    "le": lambda sql, value: sql.collate("C") <= value if isinstance(value, str) else sql <= value,
}
