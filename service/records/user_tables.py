"""Users as tables name them, by name and by the codes of roles: to export and to import many at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import func, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.names import name_key
from service.records import user_list
from service.records.row_mapper import RowMapper
from service.records.schema import role, user, user_role
from service.records.user_list import User, UserValues


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedUser(UserValues):
    """A user; ``roles`` are the codes of all roles that are given, in the order of their ids."""

    id: int
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Directory:
    """What is stored of that which a table names: users by the key of their name, ids of roles by code."""

    users: Mapping[str, User]
    roles: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NewRow:
    """A user to be written: ``values`` by column, and the ids of roles that exist."""

    values: Mapping[str, Any]
    password_hash: str = field(repr=False)
    role_ids: Sequence[int] = ()


_EMPTY: Final = {"email": None, "phone": None, "gender": None, "avatar": None, "status": "enabled"}


async def directory(
    connection: AsyncConnection, keys: Collection[str], role_codes: Collection[str]
) -> Directory:
    """Return the users whose names have the keys, and the roles with the codes, of those that there are."""
    named = select(user.c.id, user.c.user_name_key).where(user.c.user_name_key.in_(keys))
    key_of = {row.id: row.user_name_key for row in await connection.execute(named)}
    users = await user_list.read_all(connection, list(key_of))
    coded = select(role.c.role_code, role.c.id).where(role.c.role_code.in_(role_codes))
    roles = {row.role_code: row.id for row in await connection.execute(coded)}
    return Directory({key_of[one.id]: one for one in users}, roles)


async def create_all(connection: AsyncConnection, rows: Iterable[NewRow]) -> dict[str, int]:
    """Write new users with their roles; return the ids of those written, by the key of their name.

    Those whose name is taken by then are left out. A few statements, whatever the number: users that are
    written one by one hold up everybody else's changes for seconds.
    """
    by_key = {name_key(row.values["user_name"]): row for row in rows}
    if not by_key:
        return {}
    written = await connection.execute(
        upsert(user)
        .on_conflict_do_nothing(index_elements=[user.c.user_name_key])
        .returning(user.c.user_name_key, user.c.id),
        [
            {**_EMPTY, **row.values, "user_name_key": key, "password_hash": row.password_hash}
            for key, row in by_key.items()
        ],
    )
    ids = {row.user_name_key: row.id for row in written}
    given = [{"user_id": ids[key], "role_id": one} for key in ids for one in by_key[key].role_ids]
    if given:
        await connection.execute(insert(user_role), given)
    return ids


_CODES: Final = (
    select(role.c.role_code)
    .join(user_role, user_role.c.role_id == role.c.id)
    .where(user_role.c.user_id == user.c.id)
    .order_by(role.c.id)
    .correlate(user)
)
_CODED: Final = RowMapper(CodedUser, user, roles=func.array(_CODES.scalar_subquery()))


async def after(connection: AsyncConnection, user_id: int, most: int) -> list[CodedUser]:
    """Return the first ``most`` users whose id is greater than ``user_id``, in order."""
    following = select(*_CODED.columns).where(user.c.id > user_id)
    return await _CODED.all(connection, following.order_by(user.c.id).limit(most))
