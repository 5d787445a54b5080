"""An overview of users for the operator: roles, last change, and which users may do everything."""

from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Select, exists, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import ValidationFailed
from service.kernel.core_sentences import sentence
from service.kernel.identity import Kind
from service.kernel.text import RESERVED
from service.records.assignments import in_force, instant
from service.records.database.row_mapper import RowMapper
from service.records.factors import has_factor
from service.records.schema.rights import menu, role, role_menu, user, user_role
from service.records.user_list import Status


class Overview(Struct, frozen=True):
    """One user.

    ``roles`` are the codes of the enabled roles, ``disabled_roles`` of the disabled ones; both sorted.
    ``everything``: an enabled role gives ``*``; a disabled user may still do nothing. ``password_time`` is
    when the password was last set anew, None while it is the one that the account was made with. ``now`` is
    the database's time.
    """

    id: int
    user_name: str
    kind: Kind
    status: Status
    roles: tuple[str, ...]
    disabled_roles: tuple[str, ...]
    create_time: datetime
    update_time: datetime
    password_time: datetime | None
    everything: bool
    second_factor: bool
    now: datetime


async def overview(connection: AsyncConnection, role_code: str | None = None) -> list[Overview]:
    """Return all users, or the users with a role, by id; ValidationFailed if the role does not exist."""
    statement = _users()
    if role_code is not None:
        query = select(role.c.id).where(role.c.role_code == role_code)
        role_id = (await connection.execute(query)).scalar_one_or_none()
        if role_id is None:
            raise ValidationFailed(("role", sentence("no_role_with_code", role=role_code)))
        members = select(user_role.c.user_id).where(user_role.c.role_id == role_id, _IN_FORCE)
        statement = statement.where(user.c.id.in_(members))
    return await _OVERVIEW.all(connection, statement)


async def reserved_names(connection: AsyncConnection, most: int) -> list[tuple[int, str]]:
    """Return the ids and names of at most ``most`` users whose names begin with the reserved prefix."""
    named = select(user.c.id, user.c.user_name).where(user.c.user_name_key.startswith(RESERVED))
    return [
        (row.id, row.user_name) for row in await connection.execute(named.order_by(user.c.id).limit(most))
    ]


async def oldest_user(connection: AsyncConnection) -> datetime | None:
    """Return when the first user was created, about when the installation was; None without users."""
    statement = select(user.c.create_time).order_by(user.c.id).limit(1)
    created: datetime | None = (await connection.execute(statement)).scalar_one_or_none()
    return created


async def administrators(connection: AsyncConnection) -> list[Overview]:
    """Return the enabled persons with a password who hold all permissions, by id."""
    able = user.c.status == "enabled", user.c.password_hash.is_not(None)
    statement = _users().where(*able, _EVERYTHING)
    return await _OVERVIEW.all(connection, statement)


async def unconfirmed(connection: AsyncConnection) -> tuple[int, int]:
    """Return the number of enabled persons with a password who cannot recover it, and that of all."""
    confirmed = user.c.email.is_not(None) & user.c.recovery_email.is_not(None)
    counted = select(func.count().filter(~confirmed), func.count())
    able = user.c.status == "enabled", user.c.password_hash.is_not(None)
    without, everybody = (await connection.execute(counted.select_from(user).where(*able))).one()
    return without, everybody


_IN_FORCE: Final = in_force(instant(None))


def _codes(*, enabled: bool) -> ColumnElement[list[str]]:
    codes = (
        select(role.c.role_code)
        .join(user_role, user_role.c.role_id == role.c.id)
        .where(user_role.c.user_id == user.c.id, role.c.enabled.is_(enabled), _IN_FORCE)
        .distinct()
        .order_by(role.c.role_code)
    )
    return func.array(codes.correlate(user).scalar_subquery())


_EVERYTHING: Final[ColumnElement[bool]] = (
    exists()
    .where(user_role.c.user_id == user.c.id, role.c.id == user_role.c.role_id, role.c.enabled, _IN_FORCE)
    .where(role_menu.c.role_id == role.c.id, menu.c.id == role_menu.c.menu_id)
    .where(menu.c.menu_type == "Button", menu.c.enabled, menu.c.auth_mark == "*")
    .correlate(user)
)


_OVERVIEW: Final = RowMapper(
    Overview,
    user,
    roles=_codes(enabled=True),
    disabled_roles=_codes(enabled=False),
    everything=_EVERYTHING,
    second_factor=has_factor(user.c.id),
    now=func.now(),
)


def _users() -> Select[Any]:
    return _OVERVIEW.select.order_by(user.c.id)
