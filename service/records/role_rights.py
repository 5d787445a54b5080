"""The permission codes that users hold: the join of users, roles and menus.

Held codes are those of an instant (``at``): the session store's now, or the database's for None. Codes that a
user could come to hold count all assignments that have not ended, including later ones.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Select,
    Text,
    any_,
    bindparam,
    exists,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.assurance import Acr
from service.kernel.identity import Kind
from service.records import assignments, bans, factors
from service.records.assignments import AT
from service.records.database.filters import among
from service.records.database.row_mapper import PreparedSelect, RowMapper, Source
from service.records.database.transactions import is_rehearsal, take_locks
from service.records.schema.rights import menu, role, role_menu, user, user_ban, user_role

LOCK: Final = 0x72696768_74730000  # "rights"
"""The advisory lock for changes of rights."""
SETTLING: Final = LOCK + 1
"""The advisory lock for conditions on remaining rights: taken by changes, and by urgent acts."""
_URGENT_WITHIN: Final = 1.5
"""Seconds that an urgent act waits for a lock.

A bulk edit that has changed a row which the act needs gives way sooner (``giving_way``).
"""

Pace = Literal["usual", "bulk", "urgent"]
"""Choice of the locks of rights of a transaction: see ``lock``."""


class Rights(Struct, frozen=True):
    """Role codes and permission codes, each sorted; wildcards are not expanded.

    They hold until ``changes_at``, when an assignment of the user begins or ends; None for no such instant.
    ``keys_barred``: one of the roles allows its holders no API keys of their own.
    """

    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    changes_at: datetime | None = None
    keys_barred: bool = False


def seconds_until(changes_at: datetime | None) -> float:
    """Return ``changes_at`` in seconds since the epoch, infinity for None."""
    return float("inf") if changes_at is None else changes_at.timestamp()


async def set_pace(connection: AsyncConnection, pace: Pace) -> None:
    """Set the locks of rights that the transaction takes; before its first one."""
    await connection.execution_options(rights_pace=pace)


def pace_of(connection: AsyncConnection) -> Pace:
    """Return the pace of the transaction."""
    pace: Pace = connection.sync_connection.get_execution_options().get("rights_pace", "usual")  # type: ignore[union-attr]  # in a transaction there is one
    return pace


async def lock(connection: AsyncConnection) -> None:
    """Prevent other transactions from changing rights until this one has ended.

    This takes two locks. An ordinary change takes both at once. A bulk edit, which may take minutes, takes
    the second lock only by ``settle``, after all comparing, deriving and writing. An urgent act only revokes
    rights or ends sessions (ban, kick, disable, revoke, removing a role). It takes the second lock alone, so
    it waits for no bulk edit. This is safe: an urgent act before the commit of a bulk edit has the same
    effect as one before its beginning. The marks of the bulk edit are more than enough, and it checks its
    conditions behind ``settle``.

    A transaction that also publishes takes the lock of the policy first. A dry run takes no lock.
    """
    if is_rehearsal(connection):
        return
    match pace_of(connection):
        case "usual":
            await take_locks(connection, LOCK, SETTLING)
        case "bulk":
            await take_locks(connection, LOCK)
        case "urgent":
            await take_locks(connection, SETTLING, within=_URGENT_WITHIN)


async def settle(connection: AsyncConnection) -> None:
    """Prevent the revocation of rights until the commit, in a bulk edit; other transactions did so earlier.

    Later checks stay true.
    """
    if not is_rehearsal(connection) and pace_of(connection) == "bulk":
        await take_locks(connection, SETTLING)


async def of(connection: AsyncConnection, user_id: int, at: datetime | None = None) -> Rights:
    """Return the rights granted by the enabled roles of a user; none for an unknown user.

    Permissions are the auth_marks of enabled Buttons. Only the Button's own state counts: a disabled Menu
    above it hides a page but removes no right.
    """
    row = (await connection.execute(_RIGHTS, {"user_id": user_id, "at": at})).one()
    return Rights(tuple(row.roles), tuple(row.permissions), row.changes_at, row.keys_barred)


async def of_enabled_user(
    connection: AsyncConnection, user_id: int, at: datetime | None = None
) -> Rights | None:
    """Return the same as ``of``; None for a user who is unknown, disabled or banned."""
    row = (await connection.execute(_RIGHTS_OF_ENABLED, {"user_id": user_id, "at": at})).one_or_none()
    if row is None:
        return None
    return Rights(tuple(row.roles), tuple(row.permissions), row.changes_at, row.keys_barred)


def columns_of(
    user_id: ColumnElement[int],
) -> tuple[ColumnElement[list[str]], ColumnElement[list[str]], ColumnElement[list[int]]]:
    """Return three arrays: the sorted role codes and permission codes of a user, and the bits of these.

    As of the parameter ``at``.
    """
    held = (
        select(role.c.id, role.c.role_code)
        .join(user_role, user_role.c.role_id == role.c.id)
        .where(user_role.c.user_id == user_id, role.c.enabled, assignments.in_force(AT))
        .distinct()
        .cte("held")
    )
    codes = select(held.c.role_code).order_by(held.c.role_code)
    marks = (
        select(menu.c.auth_mark, menu.c.bit_position)
        .join(role_menu, role_menu.c.menu_id == menu.c.id)
        .where(role_menu.c.role_id.in_(select(held.c.id)), menu.c.menu_type == "Button", menu.c.enabled)
        .distinct()
        .cte("marks")
    )
    permissions = select(marks.c.auth_mark).order_by(marks.c.auth_mark)
    bits = select(marks.c.bit_position).order_by(marks.c.auth_mark)
    return (
        func.array(codes.scalar_subquery()).label("roles"),
        func.array(permissions.scalar_subquery()).label("permissions"),
        func.array(bits.scalar_subquery()).label("bits"),
    )


def keys_barred(user_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the SQL that is true if an enabled role of a user bars personal API keys, as of ``at``."""
    barring = user_role.join(role, role.c.id == user_role.c.role_id)
    held = select(literal(1)).select_from(barring)
    return held.where(
        user_role.c.user_id == user_id, role.c.enabled, ~role.c.personal_keys, assignments.in_force(AT)
    ).exists()


# Built once: SQLAlchemy takes longer to build this statement than PostgreSQL takes to run it.
_USER: Final = bindparam("user_id", type_=BigInteger())
_RIGHTS: Final = select(
    *columns_of(_USER)[:2], assignments.changes_at(_USER, AT), keys_barred(_USER).label("keys_barred")
)
_RIGHTS_OF_ENABLED: Final = _RIGHTS.where(
    user.c.id == _USER,
    user.c.status == "enabled",
    ~exists().where(user_ban.c.user_id == _USER, bans.in_force()),
)


async def max_delegation(connection: AsyncConnection, user_id: int) -> int | None:
    """Return the longest ``max_delegation`` of the roles of a user in seconds; None if no role has one."""
    longest = (
        select(func.max(role.c.max_delegation))
        .join(user_role, user_role.c.role_id == role.c.id)
        .where(
            user_role.c.user_id == user_id, role.c.enabled, assignments.in_force(assignments.instant(None))
        )
    )
    seconds: int | None = await connection.scalar(longest)
    return seconds


async def ends_of(
    connection: AsyncConnection, user_id: int, at: datetime | None = None
) -> dict[str, datetime]:
    """Return the time at which a user ceases to hold codes, by code, as of the instant ``at``.

    Permanently held codes are left out. The last end of the assignments in force counts.
    """
    until = user_role.c.valid_until
    statement = (
        select(menu.c.auth_mark, func.max(until))
        .join(role_menu, role_menu.c.menu_id == menu.c.id)
        .join(role, role.c.id == role_menu.c.role_id)
        .join(user_role, user_role.c.role_id == role.c.id)
        .where(user_role.c.user_id == user_id, role.c.enabled, menu.c.menu_type == "Button", menu.c.enabled)
        .where(assignments.in_force(assignments.instant(at)))
        .group_by(menu.c.auth_mark)
        .having(func.bool_and(until.is_not(None)))
    )
    return {row[0]: row[1] for row in await connection.execute(statement)}


async def reach_of_users(connection: AsyncConnection, user_ids: Iterable[int]) -> set[str]:
    """Return the codes that the users would hold if all their roles and Buttons were enabled.

    Those of assignments that begin later are among them.
    """
    assigned = select(user_role.c.role_id).where(
        among(user_role.c.user_id, [*user_ids]), assignments.not_ended(assignments.instant(None))
    )
    return await _given(connection, role_menu.c.role_id.in_(assigned))


async def reach_of_roles(connection: AsyncConnection, role_ids: Iterable[int]) -> set[str]:
    """Return the codes that the roles would grant if they and all their Buttons were enabled."""
    return await _given(connection, among(role_menu.c.role_id, [*role_ids]))


async def _given(connection: AsyncConnection, by_roles: ColumnElement[bool]) -> set[str]:
    """Return the codes of Buttons, enabled or not, granted by roles; roles are read before Buttons."""
    statement = (
        select(menu.c.auth_mark)
        .join(role_menu, role_menu.c.menu_id == menu.c.id)
        .where(by_roles, menu.c.menu_type == "Button")
    )
    return set((await connection.execute(statement.distinct())).scalars())


async def codes_of_menus(connection: AsyncConnection, menu_ids: Iterable[int]) -> set[str]:
    """Return the codes of all Buttons among the menus, enabled or not."""
    statement = select(menu.c.auth_mark).where(among(menu.c.id, [*menu_ids]), menu.c.menu_type == "Button")
    return set((await connection.execute(statement)).scalars())


async def in_role(connection: AsyncConnection, role_id: int) -> list[int]:
    """Return the ids of the users who have the role, in order."""
    rows = await connection.execute(
        select(user_role.c.user_id)
        .where(user_role.c.role_id == role_id)
        .distinct()
        .order_by(user_role.c.user_id)
    )
    return list(rows.scalars())


async def in_roles(connection: AsyncConnection, role_ids: Iterable[int]) -> list[int]:
    """Return the ids of the users who have any of the roles, in order."""
    statement = select(user_role.c.user_id).where(among(user_role.c.role_id, [*role_ids])).distinct()
    return list((await connection.execute(statement.order_by(user_role.c.user_id))).scalars())


async def holders_of_menus(connection: AsyncConnection, menu_ids: Iterable[int]) -> list[int]:
    """Return the ids of the users who have any of the menus through a role, in order."""
    giving = select(role_menu.c.role_id).where(among(role_menu.c.menu_id, [*menu_ids]))
    statement = select(user_role.c.user_id).where(user_role.c.role_id.in_(giving)).distinct()
    return list((await connection.execute(statement.order_by(user_role.c.user_id))).scalars())


async def has_administrator(connection: AsyncConnection, acr: Acr = "pwd") -> bool:
    """True if an enabled person who can authenticate as strongly as ``acr`` holds ``*``.

    A service account does not count: it cannot log in, and its keys cannot create other keys. An invited
    person without a password does not count. A holder by an assignment with an end does not count either.
    """
    return bool((await connection.execute(select(_administrators(acr).exists()))).scalar_one())


async def able_administrators(connection: AsyncConnection, acr: Acr) -> list[int]:
    """Return the ids of administrators who can log in with ``acr`` and are not banned."""
    able = _administrators(acr).where(user.c.id.not_in(select(user_ban.c.user_id).where(bans.in_force())))
    return list((await connection.execute(able.distinct().order_by(user.c.id))).scalars())


async def is_administrator(connection: AsyncConnection, user_id: int) -> bool:
    """True if a user is one of those persons."""
    statement = select(_administrators().where(user.c.id == user_id).exists())
    return bool((await connection.execute(statement)).scalar_one())


async def administrators(connection: AsyncConnection, most: int) -> list[int]:
    """Return the ids of the first ``most`` of those persons."""
    chosen = _administrators().distinct().order_by(user.c.id).limit(most)
    return list((await connection.execute(chosen)).scalars())


def _administrators(acr: Acr = "pwd") -> Select[int]:
    lasting = user_role.c.valid_until.is_(None) & assignments.in_force(assignments.instant(None))
    holders = (
        select(user.c.id)
        .join(user_role, user_role.c.user_id == user.c.id)
        .join(role, role.c.id == user_role.c.role_id)
        .join(role_menu, role_menu.c.role_id == role.c.id)
        .join(menu, menu.c.id == role_menu.c.menu_id)
        .where(user.c.status == "enabled", user.c.password_hash.is_not(None), role.c.enabled)
        .where(menu.c.menu_type == "Button", menu.c.enabled, menu.c.auth_mark == "*", lasting)
    )
    if acr != "pwd":
        holders = holders.where(factors.has_factor(user.c.id, acr))
    return holders


class ActiveUser(Struct, frozen=True):
    """A user, neither disabled nor banned, with sorted role codes and permission codes.

    ``name_key`` is the form in which names are compared. ``service`` is the one that a service account is
    bound to. ``changes_at`` is that of ``Rights``.
    """

    id: int
    user_name: str
    name_key: str
    nick_name: str
    kind: Kind
    service: str | None
    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    changes_at: datetime | None


_IDS: Final = bindparam("ids", type_=ARRAY(BigInteger()))
_KEYS: Final = bindparam("keys", type_=ARRAY(Text()))
_KNOWN: Final = PreparedSelect(
    select(user.c.id, user.c.user_name_key).where(
        or_(user.c.id == any_(_IDS), user.c.user_name_key == any_(_KEYS))
    ),
    tuple,
)
_ROLES: Final = (
    select(role.c.role_code)
    .join(user_role, user_role.c.role_id == role.c.id)
    .where(user_role.c.user_id == user.c.id, role.c.enabled, assignments.in_force(AT))
    .distinct()
    .order_by(role.c.role_code)
    .correlate(user)
)
_PERMISSIONS: Final = (
    select(menu.c.auth_mark)
    .join(role_menu, role_menu.c.menu_id == menu.c.id)
    .join(role, role.c.id == role_menu.c.role_id)
    .join(user_role, user_role.c.role_id == role.c.id)
    .where(user_role.c.user_id == user.c.id, role.c.enabled, assignments.in_force(AT))
    .where(menu.c.menu_type == "Button", menu.c.enabled)
    .distinct()
    .order_by(menu.c.auth_mark)
    .correlate(user)
)
_ACTIVE_USER: Final = RowMapper(
    ActiveUser,
    user,
    name_key=user.c.user_name_key,
    roles=func.array(_ROLES.scalar_subquery()),
    permissions=func.array(_PERMISSIONS.scalar_subquery()),
    changes_at=assignments.changes_at(user.c.id, AT),
)
_ACTIVE: Final = PreparedSelect(
    _ACTIVE_USER.select.where(
        user.c.id == any_(_IDS),
        user.c.status == "enabled",
        ~exists().where(user_ban.c.user_id == user.c.id, bans.in_force()),
    ),
    _ACTIVE_USER.of_values,
)


async def known_users(source: Source, ids: Collection[int], keys: Collection[str]) -> dict[int, str]:
    """Return, by id, the name keys of the users with one of these ids or name keys, disabled ones too."""
    return dict(await _KNOWN.all(source, ids=list(ids), keys=list(keys)))


async def active_users(source: Source, ids: Collection[int], at: datetime | None = None) -> list[ActiveUser]:
    """Return those of the users who are neither disabled nor banned."""
    return await _ACTIVE.all(source, ids=list(ids), at=at)
