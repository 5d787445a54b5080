"""Changes of ``sys.user`` and of the roles given to users.

Callers hold ``role_rights.lock``, so that what they have checked stays true until the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import delete as delete_from
from sqlalchemy import insert, select
from sqlalchemy import update as change
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict
from service.kernel.names import name_key
from service.kernel.target import NewAccount, Target
from service.records.accounts import GIVEN
from service.records.database.row_mapper import RowWriter
from service.records.schema import role, user, user_login, user_role
from service.records.user_list import UserValues

TAKEN = "The user name is taken"

WRITER: Final = RowWriter(UserValues, user)
"""Writes users."""


@dataclass(frozen=True, slots=True)
class NewRow:
    """A user to be written: the account, and the ids of existing roles.

    ``password_hash`` is None for a service account, and only then. The password of a new user is initial.
    """

    account: NewAccount
    password_hash: str | None = field(repr=False)
    role_ids: Sequence[int] = ()


async def create(
    connection: AsyncConnection,
    password_hash: str | None,
    account: NewAccount,
    role_ids: Sequence[int] = (),
) -> int:
    """Write one new user and return the id; the arguments are as in ``NewRow``.

    Conflict if the name is taken, compared by ``name_key``; the transaction can continue then.
    """
    written = await create_all(connection, [NewRow(account, password_hash, role_ids)])
    if not written:
        raise Conflict(TAKEN, rule="unique", field="userName")
    return written[name_key(account.values["user_name"])]


async def create_all(connection: AsyncConnection, rows: Iterable[NewRow]) -> dict[str, int]:
    """Write new users with their roles; return the ids of the users written, by the key of their name.

    Users whose name is taken are left out. Two statements, whatever the number: writing users one by one
    would block all other changes for seconds.
    """
    by_key = {name_key(row.account.values["user_name"]): row for row in rows}
    if not by_key:
        return {}
    written = await connection.execute(
        upsert(user)
        .on_conflict_do_nothing(index_elements=[user.c.user_name_key])
        .returning(user.c.user_name_key, user.c.id),
        [
            WRITER.new(
                UserValues(**row.account.values),
                password_hash=row.password_hash,
                password_initial=None if row.password_hash is None else GIVEN,
            )
            for row in by_key.values()
        ],
    )
    ids = {row.user_name_key: row.id for row in written}
    given = [{"user_id": ids[key], "role_id": role_id} for key in ids for role_id in by_key[key].role_ids]
    if given:
        await connection.execute(insert(user_role), given)
    return ids


async def update(connection: AsyncConnection, target: Target, values: Mapping[str, Any]) -> None:
    """Store ``values``, by column, of an existing user, and raise the version even if there are none.

    Conflict if the name belongs to another user; the transaction can continue then.
    """
    try:
        async with connection.begin_nested():
            written = change(user).where(user.c.id == target.user_id)
            await connection.execute(written.values(WRITER.edited(values)))
    except IntegrityError as error:
        if getattr(getattr(error.orig, "diag", None), "constraint_name", "") != "user_user_name_key_key":
            raise
        raise Conflict(TAKEN, rule="unique", field="userName") from None


async def delete(connection: AsyncConnection, target: Target) -> None:
    """Delete a user; the user's files stay without an owner, and log entries stay."""
    await connection.execute(delete_from(user).where(user.c.id == target.user_id))
    await connection.execute(delete_from(user_login).where(user_login.c.user_id == target.user_id))


async def unknown_roles(connection: AsyncConnection, role_ids: Iterable[int]) -> set[int]:
    """Return the ids in ``role_ids`` for which there is no role."""
    asked = set(role_ids)
    return asked - set((await connection.execute(select(role.c.id).where(role.c.id.in_(asked)))).scalars())


async def give_roles(connection: AsyncConnection, target: Target, role_ids: Sequence[int]) -> None:
    """Give roles to an existing user, who must not have any of them yet."""
    if role_ids:
        rows = [{"user_id": target.user_id, "role_id": role_id} for role_id in role_ids]
        await connection.execute(insert(user_role), rows)


async def take_roles(connection: AsyncConnection, target: Target, role_ids: Sequence[int]) -> None:
    """Take roles from a user."""
    if role_ids:
        taken = (user_role.c.user_id == target.user_id) & user_role.c.role_id.in_(role_ids)
        await connection.execute(delete_from(user_role).where(taken))
