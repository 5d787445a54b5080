"""What each role gives, and how many users have which roles: all that decides who may do what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ARRAY, ColumnElement, Text, any_, exists, func, literal, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.paging import Page, page_of
from service.records.roles import roles
from service.records.schema import menu, role, role_menu, user, user_ban, user_role
from service.records.users import bans


@dataclass(frozen=True, slots=True)
class Holdings:
    """``codes`` are those that each role gives, none for a disabled role.

    ``users`` counts the users who may log in, neither disabled nor banned, by the codes of all roles that
    they have, sorted. ``persons`` counts those of them who are persons.
    """

    codes: dict[str, tuple[str, ...]]
    users: Counter[tuple[str, ...]]
    persons: Counter[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class RoleHolder:
    """A user who may log in, and the codes of all roles that the user has, sorted."""

    id: int
    user_name: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodeOrigin:
    """Where a held code comes from: a role, and the Button with the code that the role gives."""

    code: str
    role_code: str
    button_id: int
    button_title: str


# By ids: to sort and compare the codes of all roles of all users takes twice as long.
_ROLES: Final = func.array_remove(
    func.array_agg(aggregate_order_by(user_role.c.role_id, user_role.c.role_id)), None
).label("role_ids")
_EACH: Final = (
    select(user.c.id, user.c.user_name, user.c.kind, _ROLES)
    .select_from(user)
    .outerjoin(user_role, user_role.c.user_id == user.c.id)
    .where(user.c.status == "enabled", ~exists().where(user_ban.c.user_id == user.c.id, bans.in_force()))
    .group_by(user.c.id)
    .subquery()
)


async def read(connection: AsyncConnection) -> Holdings:
    """Return what is stored; a hundred thousand users take some tenths of a second, in the database."""
    codes, named = await read_codes(connection), await _codes_by_id(connection)
    persons = func.count().filter(_EACH.c.kind == "person")
    counted = select(_EACH.c.role_ids, func.count(), persons).group_by(_EACH.c.role_ids)
    rows = [(_named(row[0], named), *row[1:]) for row in await connection.execute(counted)]
    return Holdings(
        codes,
        Counter({role_codes: number for role_codes, number, _ in rows}),
        Counter({role_codes: number for role_codes, _, number in rows}),
    )


async def read_codes(connection: AsyncConnection) -> dict[str, tuple[str, ...]]:
    """Return the codes that each role gives, none for a disabled role."""
    given = await roles.held_codes(connection)
    known = (await connection.execute(select(role.c.role_code))).scalars()
    return {role_code: given.get(role_code, ()) for role_code in known}


async def holders(
    connection: AsyncConnection,
    role_sets: Collection[tuple[str, ...]],
    *,
    page: int,
    size: int,
    total: int | None = None,
) -> Page[RoleHolder]:
    """Return page ``page`` (from 1) of the users whose roles are one of ``role_sets``, by name.

    ``total`` is how many they are, if it is known for this snapshot: to count them takes as long as the page.
    """
    named = await _codes_by_id(connection)
    ids = {code: role_id for role_id, code in named.items()}
    # An array is a single parameter; a list would be one for each set.
    texts = [
        ",".join(map(str, sorted(ids[code] for code in one))) for one in role_sets if ids.keys() >= {*one}
    ]
    wanted = literal(texts, ARRAY(Text))
    chosen = select(_EACH).where(func.array_to_string(_EACH.c.role_ids, ",") == any_(wanted))
    order = (_EACH.c.user_name, _EACH.c.id)
    if total is None:
        found = await page_of(connection, chosen, page=page, size=size, order=order)
        rows, total = found.items, found.total
    else:
        part = chosen.order_by(*order).limit(size).offset((page - 1) * size)
        rows = tuple((await connection.execute(part)).all())
    return Page(tuple(RoleHolder(row.id, row.user_name, _named(row.role_ids, named)) for row in rows), total)


async def _codes_by_id(connection: AsyncConnection) -> dict[int, str]:
    rows = await connection.execute(select(role.c.id, role.c.role_code))
    return {row.id: row.role_code for row in rows}


def _named(role_ids: Iterable[int], named: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(sorted(named[role_id] for role_id in role_ids))


async def origins(
    connection: AsyncConnection, codes: Collection[str], *, user_id: int | None = None
) -> list[CodeOrigin]:
    """Return each enabled role, and its enabled Button, that gives one of ``codes``, by code and role.

    All such roles, or those of a user.
    """
    statement = (
        select(menu.c.auth_mark, role.c.role_code, menu.c.id, menu.c.title)
        .join(role_menu, role_menu.c.menu_id == menu.c.id)
        .join(role, role.c.id == role_menu.c.role_id)
        .where(menu.c.menu_type == "Button", menu.c.enabled, role.c.enabled, _one_of(codes))
        .order_by(menu.c.auth_mark, role.c.role_code, menu.c.id)
    )
    if user_id is not None:
        mine = exists().where(user_role.c.role_id == role.c.id, user_role.c.user_id == user_id)
        statement = statement.where(mine)
    return [CodeOrigin(*row) for row in await connection.execute(statement)]


def _one_of(codes: Collection[str]) -> ColumnElement[bool]:
    return menu.c.auth_mark == any_(literal(list(codes), ARRAY(Text)))
