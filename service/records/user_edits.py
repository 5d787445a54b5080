"""Changes of ``sys.user`` and of the roles given to users.

Whoever changes one holds ``rights.lock``, so that what was looked at stays true until the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import delete as delete_from
from sqlalchemy import func, insert, select
from sqlalchemy import update as change
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict
from service.kernel.names import name_key
from service.kernel.target import Target
from service.records.schema import role, user, user_role

TAKEN = "The user name is taken"


async def create(
    connection: AsyncConnection, password_hash: str, values: Mapping[str, Any], role_ids: Sequence[int]
) -> int:
    """Write a new user with ``values``, by column, in roles that exist; return the id.

    Conflict when the name is taken, by ``name_key``; the transaction can go on then.
    """
    written = (
        upsert(user)
        .values(_keyed(values) | {"password_hash": password_hash})
        .on_conflict_do_nothing(index_elements=[user.c.user_name_key])
        .returning(user.c.id)
    )
    user_id: int | None = (await connection.execute(written)).scalar_one_or_none()
    if user_id is None:
        raise Conflict(TAKEN, field="userName")
    await _insert_roles(connection, user_id, role_ids)
    return user_id


async def update(connection: AsyncConnection, target: Target, values: Mapping[str, Any]) -> None:
    """Store ``values``, by column, of an existing user, and raise the version even if there are none.

    Conflict when the name is that of another user; the transaction can go on then.
    """
    raised = {"version": user.c.version + 1, "update_time": func.now()}
    try:
        async with connection.begin_nested():
            written = change(user).where(user.c.id == target.user_id)
            await connection.execute(written.values(_keyed(values) | raised))
    except IntegrityError as error:
        if getattr(getattr(error.orig, "diag", None), "constraint_name", "") != "user_user_name_key_key":
            raise
        raise Conflict(TAKEN, field="userName") from None


async def delete(connection: AsyncConnection, target: Target) -> None:
    """Delete a user, whose files then have no owner; what logs say of the user stays."""
    await connection.execute(delete_from(user).where(user.c.id == target.user_id))


async def unknown_roles(connection: AsyncConnection, role_ids: Iterable[int]) -> set[int]:
    """Return those of ``role_ids`` that no role has."""
    asked = set(role_ids)
    return asked - set((await connection.execute(select(role.c.id).where(role.c.id.in_(asked)))).scalars())


async def give_roles(connection: AsyncConnection, target: Target, role_ids: Sequence[int]) -> None:
    """Give roles, which the user must not have, to an existing user."""
    await _insert_roles(connection, target.user_id, role_ids)


async def take_roles(connection: AsyncConnection, target: Target, role_ids: Sequence[int]) -> None:
    """Take roles from a user."""
    if role_ids:
        taken = (user_role.c.user_id == target.user_id) & user_role.c.role_id.in_(role_ids)
        await connection.execute(delete_from(user_role).where(taken))


async def _insert_roles(connection: AsyncConnection, user_id: int, role_ids: Sequence[int]) -> None:
    if role_ids:
        rows = [{"user_id": user_id, "role_id": role_id} for role_id in role_ids]
        await connection.execute(insert(user_role), rows)


def _keyed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``values`` with what the name is compared by, if they name the user."""
    named = {"user_name_key": name_key(values["user_name"])} if "user_name" in values else {}
    return {**values, **named}
