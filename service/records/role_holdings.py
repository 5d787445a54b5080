"""The codes of each role, and the number of users with each set of roles: the basis of all permissions.

Holders of a role are those at an instant, past or future (``at``); the database's now for None. ``then`` is
the same instant if it is past: then roles grant their codes of that time, instead of the present ones. The
ability to log in is always the present one.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import compress
from typing import Annotated, Any, Final, TypeAlias

import sqlalchemy as sa
from msgspec import Meta, Struct
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.assurance import Acr
from service.kernel.identity import Kind
from service.kernel.value_rules import Id, RoleCode
from service.records import assignments, bans, factors, role_lives, roles
from service.records.assignments import Present, assigned, of_user
from service.records.database.paging import Page
from service.records.database.portions import each_row
from service.records.schema.rights import (
    Source,
    menu,
    role,
    role_code_life,
    role_menu,
    user,
    user_ban,
    user_role,
)

Roles: TypeAlias = tuple[str, ...]
"""The codes of all roles of a user, sorted."""


class Holdings(Struct, frozen=True):
    """``codes`` are those that each role grants, none for a disabled role.

    ``users`` counts the users who can log in, neither disabled nor banned, by their roles. ``persons`` counts
    the persons among them.
    """

    codes: dict[str, tuple[str, ...]]
    users: Counter[Roles]
    persons: Counter[Roles]

    def number(self, role_sets: Collection[Roles], kind: Kind | None) -> int:
        """Return the number of users with one of ``role_sets``; of one kind, or of both for None."""
        users = sum(self.users[roles] for roles in role_sets)
        persons = sum(self.persons[roles] for roles in role_sets)
        return users if kind is None else persons if kind == "person" else users - persons


class RoleHolder(Struct, frozen=True):
    """A user able to log in."""

    id: int
    user_name: str
    roles: Roles


class CodeOrigin(Struct, frozen=True):
    """Origin of a held code: a role, and the Button with the code that the role grants.

    For a user it also has the assignment of the role, with start, expiry, reason and author, and its request
    with the approvers. Without a user, and if unknown, these are None.
    """

    code: str
    role_code: RoleCode
    button_id: Id
    button_title: Annotated[str, Meta(examples=["List and read roles"])]
    assignment_id: Id | None = None
    since: datetime | None = None
    until: datetime | None = None
    reason: Annotated[str, Meta(examples=["Stands in for the auditor"])] | None = None
    source: Source | None = None
    created_by: Annotated[str, Meta(examples=["admin"])] | None = None
    access_request_id: Id | None = None
    approved_by: Annotated[Sequence[str], Meta(examples=[["mira"]])] = ()


ACTIVE: Final[sa.ColumnElement[bool]] = sa.and_(
    user.c.status == "enabled", ~sa.exists().where(user_ban.c.user_id == user.c.id, bans.in_force())
)
"""The condition of users able to log in, neither disabled nor banned."""


def _sorted_roles(having: sa.Subquery) -> sa.ColumnElement[Any]:
    """Return the sorted ids of the roles of each user of ``having``, which is ``assigned``.

    Ids: to sort and compare the codes of all roles of all users takes twice as long.
    """
    role_id = having.c.role_id
    return sa.func.array_agg(aggregate_order_by(sa.distinct(role_id), role_id))


def each_with_roles(condition: sa.ColumnElement[bool], at: datetime | Present | None = None) -> sa.Subquery:
    """Return the users of a condition, each with kind and the sorted ids of all roles."""
    having = assigned(at)
    return (
        sa.select(user.c.id, user.c.kind, sa.func.array_remove(_sorted_roles(having), None).label("role_ids"))
        .select_from(user)
        .outerjoin(having, having.c.user_id == user.c.id)
        .where(condition, *_made(at))
        .group_by(user.c.id)
        .subquery()
    )


def _made(at: datetime | Present | None) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of users that there were; those who are deleted since are in no answer."""
    return [user.c.create_time <= at] if isinstance(at, datetime) else []


async def read(
    connection: AsyncConnection, at: datetime | Present | None = None, then: datetime | None = None
) -> Holdings:
    """Return the stored holdings; a hundred thousand users take some tenths of a second, in the database."""
    codes, role_codes = await read_codes(connection, then), await codes_by_id(connection, then)
    each = each_with_roles(ACTIVE, at)
    persons = sa.func.count().filter(each.c.kind == "person")
    counted = sa.select(each.c.role_ids, sa.func.count(), persons).group_by(each.c.role_ids)
    # There may be a set of roles for each user.
    rows = [row async for row in each_row(await connection.execute(counted))]
    return await asyncio.to_thread(_holdings, codes, role_codes, rows)


def _holdings(
    codes: dict[str, tuple[str, ...]],
    role_codes: Mapping[int, str],
    rows: Iterable[sa.Row[list[int], int, int]],
) -> Holdings:
    users: Counter[Roles] = Counter()
    persons: Counter[Roles] = Counter()
    for role_ids, number, number_of_persons in rows:
        having = named(role_ids, role_codes)
        users[having], persons[having] = number, number_of_persons
    return Holdings(codes, users, persons)


async def persons_by_strength(connection: AsyncConnection) -> Counter[tuple[Roles, Acr]]:
    """Count the persons able to log in, by roles and by the strongest authentication that they can reach."""
    having = each_with_roles(ACTIVE)
    user_id = having.c.id
    strength = sa.case(
        (factors.has_factor(user_id, "phr"), "phr"), (factors.has_factor(user_id), "mfa"), else_="pwd"
    )
    each = sa.select(having.c.role_ids, strength.label("acr")).where(having.c.kind == "person").subquery()
    statement = sa.select(each.c.role_ids, each.c.acr, sa.func.count()).group_by(each.c.role_ids, each.c.acr)
    role_codes = await codes_by_id(connection)
    rows = (await connection.execute(statement)).all()
    return Counter({(named(role_ids, role_codes), acr): number for role_ids, acr, number in rows})


async def read_codes(connection: AsyncConnection, then: datetime | None = None) -> dict[str, tuple[str, ...]]:
    """Return the codes that each role grants, none for a disabled role."""
    if then is not None:
        return await role_lives.held_codes(connection, then)
    given = await roles.held_codes(connection)
    known = (await connection.execute(sa.select(role.c.role_code))).scalars()
    return {role_code: given.get(role_code, ()) for role_code in known}


async def holders(
    connection: AsyncConnection,
    role_sets: Collection[Roles],
    among: Collection[Roles],
    *,
    page: int,
    size: int,
    total: int | None = None,
    kind: Kind | None = None,
    at: datetime | Present | None = None,
    then: datetime | None = None,
) -> Page[RoleHolder]:
    """Return page ``page`` (from 1) of the users whose roles are one of ``role_sets``, by name.

    With ``kind``, only accounts of that kind.

    ``among`` are the sets of roles that users have. ``total`` is how many users have one of ``role_sets``, if
    it is known for this snapshot.
    """
    role_codes = await codes_by_id(connection, then)
    # There may be a set for each user.
    given = assigned(at)
    having = await asyncio.to_thread(_having, role_sets, among, role_codes, given)
    statement = sa.select(user.c.id, user.c.user_name).where(ACTIVE, having, *_made(at))
    if kind is not None:
        statement = statement.where(user.c.kind == kind)
    if total is None:
        counted = sa.select(sa.func.count()).select_from(statement.subquery())
        total = (await connection.execute(counted)).scalar_one()
    part = statement.order_by(user.c.user_name, user.c.id).limit(size).offset((page - 1) * size).subquery()
    roles_of_each = sa.select(_sorted_roles(given)).where(given.c.user_id == part.c.id).scalar_subquery()
    shown = sa.select(part.c.id, part.c.user_name, roles_of_each).order_by(part.c.user_name, part.c.id)
    rows = await connection.execute(shown)
    return Page(tuple(RoleHolder(*row[:2], named(row[2] or (), role_codes)) for row in rows), total)


def _having(
    role_sets: Collection[Roles],
    among: Collection[Roles],
    role_codes: Mapping[int, str],
    given: sa.Subquery,
) -> sa.ColumnElement[bool]:
    """Return the condition that the roles of a user in ``given`` are one of ``role_sets``.

    Comparing the whole sets of all users takes longest. So it is limited to users without a deciding role:
    one with which all sets of ``among`` are wanted.
    """
    chosen = set(role_sets)
    if chosen.issuperset(among):
        return sa.true()
    ids = {code: role_id for role_id, code in role_codes.items()}
    known = [role_set for role_set in chosen if ids.keys() >= {*role_set}]
    unsure = {role_code for role_set in among if role_set not in chosen for role_code in role_set}
    sure = [ids[role_code] for role_code in {code for role_set in known for code in role_set} - unsure]
    whole = [sorted(ids[code] for code in role_set) for role_set in known if unsure.issuperset(role_set)]
    texts = [",".join(map(str, role_ids)) for role_ids in whole if role_ids]
    # An array is a single parameter; a list would be one for each set.
    with_any = sa.select(given.c.user_id).where(
        given.c.role_id
        == sa.any_(sa.literal([role_ids[0] for role_ids in whole if role_ids], sa.ARRAY(sa.BigInteger)))
    )
    of_user = sa.select(given.c.user_id)
    queries = [
        of_user.where(given.c.role_id == sa.any_(sa.literal(sure, sa.ARRAY(sa.BigInteger)))),
        of_user.where(given.c.user_id.in_(with_any))
        .group_by(given.c.user_id)
        .having(
            sa.func.array_to_string(_sorted_roles(given), ",")
            == sa.any_(sa.literal(texts, sa.ARRAY(sa.Text)))
        ),
        sa.select(user.c.id).where(~sa.exists().where(given.c.user_id == user.c.id)),
    ]
    needed = bool(sure), bool(texts), [] in whole
    return user.c.id.in_(sa.union_all(*compress(queries, needed))) if any(needed) else sa.false()


async def codes_by_id(connection: AsyncConnection, then: datetime | None = None) -> dict[int, str]:
    """Return the codes of all roles by their ids."""
    if then is not None:
        return await role_lives.codes_by_id(connection, then)
    rows = await connection.execute(sa.select(role.c.id, role.c.role_code))
    return {row.id: row.role_code for row in rows}


def named(role_ids: Iterable[int], role_codes: Mapping[int, str]) -> Roles:
    """Return the codes of roles, sorted."""
    return tuple(sorted(role_codes[role_id] for role_id in role_ids))


async def origins(
    connection: AsyncConnection,
    codes: Collection[str],
    *,
    user_id: int | None = None,
    at: datetime | None = None,
    then: datetime | None = None,
) -> list[CodeOrigin]:
    """Return each enabled role, and its enabled Button, that grants one of ``codes``, by code and role.

    All of these roles, or those of a user: one entry for each assignment in force. A past Button has its
    present title, or its code if it is deleted.
    """
    given = _given(codes) if then is None else _gave(codes, then)
    order = given.c.code, given.c.role_code, given.c.button_id
    shown = [given.c[name] for name in ("code", "role_code", "button_id", "button_title")]
    if user_id is None:
        return [CodeOrigin(*row) for row in await connection.execute(sa.select(*shown).order_by(*order))]
    having = of_user(user_id, at)
    names = ("id", "since", "until", "reason", "source", "created_by", "access_request_id", "approved_by")
    decided = [having.c[name] for name in names]
    statement = sa.select(*shown, *decided).join(having, having.c.role_id == given.c.role_id)
    return [CodeOrigin(*row) for row in await connection.execute(statement.order_by(*order, having.c.id))]


def _given(codes: Collection[str]) -> sa.Subquery:
    shown = role.c.id.label("role_id"), role.c.role_code, menu.c.id.label("button_id")
    return (
        sa.select(*shown, menu.c.auth_mark.label("code"), menu.c.title.label("button_title"))
        .join(role_menu, role_menu.c.menu_id == menu.c.id)
        .join(role, role.c.id == role_menu.c.role_id)
        .where(menu.c.menu_type == "Button", menu.c.enabled, role.c.enabled, _one_of(menu.c.auth_mark, codes))
        .subquery("given")
    )


def _gave(codes: Collection[str], then: datetime) -> sa.Subquery:
    life = role_code_life.c
    shown = life.role_id, life.role_code, life.menu_id.label("button_id"), life.code
    return (
        sa.select(*shown, sa.func.coalesce(menu.c.title, life.code).label("button_title"))
        .outerjoin(menu, menu.c.id == life.menu_id)
        .where(role_lives.alive(then), _one_of(life.code, codes))
        .subquery("given")
    )


def _one_of(column: sa.ColumnElement[Any], codes: Collection[str]) -> sa.ColumnElement[bool]:
    return column == sa.any_(sa.literal(list(codes), sa.ARRAY(sa.Text)))


async def kept_out_by_roles(connection: AsyncConnection) -> dict[Roles, tuple[int, ...]]:
    """Return the ids of these users, by their roles; a hundred thousand take some tenths of a second."""
    each = each_with_roles(~ACTIVE)
    ids = sa.func.array_agg(aggregate_order_by(each.c.id, each.c.id))
    role_codes = await codes_by_id(connection)
    rows = await connection.execute(sa.select(each.c.role_ids, ids).group_by(each.c.role_ids))
    return {named(role_ids, role_codes): tuple(user_ids) for role_ids, user_ids in rows}


async def user_names(connection: AsyncConnection, user_ids: Collection[int], most: int) -> tuple[str, ...]:
    """Return the names of users in order, at most ``most`` of them."""
    condition = user.c.id == sa.any_(sa.literal(list(user_ids), sa.ARRAY(sa.BigInteger)))
    statement = sa.select(user.c.user_name).where(condition).order_by(user.c.user_name).limit(most)
    return tuple((await connection.execute(statement)).scalars())


async def changing(
    connection: AsyncConnection, at: datetime | None = None
) -> dict[str, list[tuple[str, datetime | None, datetime | None]]]:
    """Return the assignments of the users, not disabled, whose roles change by themselves, by user name.

    Each is the code of the role, its beginning and its end: those in force and later ones.
    """
    windows, role_codes = await assignments.windows(connection, at), await codes_by_id(connection)
    chosen = sa.any_(sa.literal([each.user_id for each in windows], sa.ARRAY(sa.BigInteger)))
    enabled = sa.select(user.c.id, user.c.user_name).where(user.c.id == chosen, user.c.status == "enabled")
    names = {row.id: row.user_name for row in await connection.execute(enabled)}
    of_user: dict[str, list[tuple[str, datetime | None, datetime | None]]] = {}
    for each in windows:
        if (name := names.get(each.user_id)) is not None:
            held = role_codes[each.role_id], each.valid_from, each.valid_until
            of_user.setdefault(name, []).append(held)
    return of_user


async def windows_of(
    connection: AsyncConnection, user_id: int, at: datetime
) -> list[tuple[str, datetime | None, datetime | None]]:
    """Return the assignments of a user, in force and later: role code, beginning and end, by id."""
    statement = (
        sa.select(role.c.role_code, user_role.c.valid_from, user_role.c.valid_until)
        .join(role, role.c.id == user_role.c.role_id)
        .where(user_role.c.user_id == user_id, assignments.not_ended(assignments.instant(at)))
    )
    rows = await connection.execute(statement.order_by(user_role.c.id))
    return [(role_code, begin, end) for role_code, begin, end in rows]


async def names_by_roles(
    connection: AsyncConnection, at: datetime | Present | None = None
) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the users who are not disabled, by the sorted codes of all roles that they have.

    Banned users are among them, since a ban may end by itself. Users without any role are left out.
    """
    role_code = role.c.role_code
    having = sa.func.array_agg(aggregate_order_by(sa.distinct(role_code), role_code)).label("role_codes")
    given = assigned(at)
    each = (
        sa.select(user.c.user_name, having)
        .join(given, given.c.user_id == user.c.id)
        .join(role, role.c.id == given.c.role_id)
        .where(user.c.status == "enabled")
        .group_by(user.c.id)
        .subquery()
    )
    names = sa.func.array_agg(aggregate_order_by(each.c.user_name, each.c.user_name))
    rows = await connection.execute(sa.select(each.c.role_codes, names).group_by(each.c.role_codes))
    return {tuple(role_codes): tuple(user_names) for role_codes, user_names in rows}
