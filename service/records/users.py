"""``sys.user``: who may log in, and the rights that their roles give."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, Literal

from sqlalchemy import ColumnElement, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict, ValidationFailed
from service.kernel.names import name_key
from service.records.schema import menu, role, role_menu, user, user_role

_LOCK: Final = 0x61646D69_6E730000  # "admins"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a login needs to know about a user."""

    user_id: int
    user_name: str
    nick_name: str
    password_hash: str = field(repr=False)
    status: Literal["enabled", "disabled"]


@dataclass(frozen=True, slots=True)
class Rights:
    """Role codes and permission codes, each sorted; wildcards stand as they are."""

    roles: tuple[str, ...]
    permissions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Info:
    """A user's own account."""

    user_id: int
    user_name: str
    nick_name: str
    email: str | None
    avatar: str | None
    roles: tuple[str, ...]
    permissions: tuple[str, ...]


async def credentials(connection: AsyncConnection, user_name: str) -> Credentials | None:
    """Return the credentials of the user of that name, compared by ``name_key``; None when there is none."""
    columns = (user.c.id, user.c.user_name, user.c.nick_name, user.c.password_hash, user.c.status)
    found = await connection.execute(select(*columns).where(user.c.user_name_key == name_key(user_name)))
    row = found.one_or_none()
    return None if row is None else Credentials(*row)


async def credentials_of(connection: AsyncConnection, user_id: int) -> Credentials | None:
    """Return the credentials of the user with that id; None when there is none."""
    columns = (user.c.id, user.c.user_name, user.c.nick_name, user.c.password_hash, user.c.status)
    found = await connection.execute(select(*columns).where(user.c.id == user_id))
    row = found.one_or_none()
    return None if row is None else Credentials(*row)


async def in_role(connection: AsyncConnection, role_id: int) -> list[int]:
    """Return the ids of the users who have the role, in order."""
    found = await connection.execute(
        select(user_role.c.user_id).where(user_role.c.role_id == role_id).order_by(user_role.c.user_id)
    )
    return list(found.scalars())


async def create(
    connection: AsyncConnection,
    user_name: str,
    nick_name: str,
    password_hash: str,
    role_codes: Collection[str],
) -> int:
    """Write a new, enabled user in the roles of ``role_codes``; return the id.

    Raises Conflict when the name is taken, by ``name_key``, and ValidationFailed for an unknown role.
    """
    written = (
        upsert(user)
        .values(
            user_name=user_name,
            user_name_key=name_key(user_name),
            nick_name=nick_name,
            password_hash=password_hash,
        )
        .on_conflict_do_nothing(index_elements=[user.c.user_name_key])
        .returning(user.c.id)
    )
    user_id: int | None = (await connection.execute(written)).scalar_one_or_none()
    if user_id is None:
        raise Conflict("The user name is taken")
    chosen = select(role.c.id, role.c.role_code).where(role.c.role_code.in_(role_codes))
    found = {row.role_code: row.id for row in await connection.execute(chosen)}
    if unknown := sorted(set(role_codes) - set(found)):
        raise ValidationFailed(*(("role", f"there is no role {code}") for code in unknown))
    if found:
        given = [{"user_id": user_id, "role_id": role_id} for role_id in found.values()]
        await connection.execute(insert(user_role), given)
    return user_id


async def set_password_hash(
    connection: AsyncConnection, user_id: int, password_hash: str, *, expected_hash: str
) -> bool:
    """Replace the stored hash if it still is ``expected_hash``; tell whether it was.

    For a hash of the same password with newer parameters: a password that was changed meanwhile stays, and
    so does the record's version.
    """
    statement = (
        update(user)
        .where(user.c.id == user_id, user.c.password_hash == expected_hash)
        .values(password_hash=password_hash)
    )
    return (await connection.execute(statement)).rowcount == 1


async def change_password(
    connection: AsyncConnection, user_id: int, password_hash: str, *, expected_hash: str
) -> bool:
    """Store the hash of a new password if the stored one still is ``expected_hash``; tell whether it was."""
    statement = (
        update(user)
        .where(user.c.id == user_id, user.c.password_hash == expected_hash)
        .values(password_hash=password_hash, version=user.c.version + 1, update_time=func.now())
    )
    return (await connection.execute(statement)).rowcount == 1


async def lock_administrators(connection: AsyncConnection) -> None:
    """Let no other transaction take an administrator away until this one has ended."""
    await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))


async def set_status(
    connection: AsyncConnection, user_id: int, status: Literal["enabled", "disabled"]
) -> bool:
    """Enable or disable a user; False when there is none, or when the user has that status already."""
    statement = (
        update(user)
        .where(user.c.id == user_id, user.c.status != status)
        .values(status=status, version=user.c.version + 1, update_time=func.now())
    )
    return (await connection.execute(statement)).rowcount == 1


async def has_administrator_besides(connection: AsyncConnection, user_id: int) -> bool:
    """Tell whether an enabled user other than this one holds ``*``."""
    holders = (
        select(user.c.id)
        .join(user_role, user_role.c.user_id == user.c.id)
        .join(role, role.c.id == user_role.c.role_id)
        .join(role_menu, role_menu.c.role_id == role.c.id)
        .join(menu, menu.c.id == role_menu.c.menu_id)
        .where(user.c.id != user_id, user.c.status == "enabled", role.c.enabled)
        .where(menu.c.menu_type == "Button", menu.c.enabled, menu.c.auth_mark == "*")
    )
    return bool((await connection.execute(select(holders.exists()))).scalar_one())


async def rights(connection: AsyncConnection, user_id: int) -> Rights:
    """Return what the enabled roles of a user give; nothing for an unknown user.

    Permissions are the auth_marks of enabled Buttons. Only the Button's own state counts: a disabled Menu
    above it hides a page and takes no right away.
    """
    roles, permissions = (await connection.execute(select(*_rights_of(user_id)))).one()
    return Rights(tuple(roles), tuple(permissions))


async def info(connection: AsyncConnection, user_id: int) -> Info | None:
    """Return the account of a user with his rights (see ``rights``); None when there is no such user."""
    columns = (user.c.id, user.c.user_name, user.c.nick_name, user.c.email, user.c.avatar)
    found = await connection.execute(select(*columns, *_rights_of(user_id)).where(user.c.id == user_id))
    row = found.one_or_none()
    if row is None:
        return None
    *account, roles, permissions = row
    user_id, user_name, nick_name, email, avatar = account
    return Info(user_id, user_name, nick_name, email, avatar, tuple(roles), tuple(permissions))


def _rights_of(user_id: int) -> tuple[ColumnElement[list[str]], ColumnElement[list[str]]]:
    """Return two columns: the sorted role codes and permission codes of a user, as arrays."""
    held = (
        select(role.c.id, role.c.role_code)
        .join(user_role, user_role.c.role_id == role.c.id)
        .where(user_role.c.user_id == user_id, role.c.enabled)
        .cte("held")
    )
    codes = select(held.c.role_code).order_by(held.c.role_code)
    marks = (
        select(menu.c.auth_mark)
        .join(role_menu, role_menu.c.menu_id == menu.c.id)
        .where(role_menu.c.role_id.in_(select(held.c.id)), menu.c.menu_type == "Button", menu.c.enabled)
        .distinct()
        .order_by(menu.c.auth_mark)
    )
    return func.array(codes.scalar_subquery()), func.array(marks.scalar_subquery())
