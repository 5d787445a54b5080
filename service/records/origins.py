"""``sys.directory_account``: by which directories, such as providers of sign-ins, users are known."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.row_mapper import RowMapper
from service.records.schema.of_users import directory_account


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """That the directory ``source`` knows a user as ``subject``; it is ``managed`` if it decides the values.

    ``issuer`` is that of a provider, "" for the id of a client that provisions. ``linked_by`` are the ids of
    those who could have linked it: whoever stood behind the account then; None where that is not known.
    """

    source: str
    issuer: str
    subject: str
    user_id: int
    managed: bool
    create_time: datetime
    last_time: datetime | None
    linked_by: Sequence[int] | None


_ORIGIN: Final = RowMapper(Origin, directory_account)


async def origins_of(connection: AsyncConnection, user_id: int) -> list[Origin]:
    """Return the directories that know a user, by name."""
    statement = sa.select(*_ORIGIN.columns).where(directory_account.c.user_id == user_id)
    return await _ORIGIN.all(
        connection, statement.order_by(directory_account.c.source, directory_account.c.create_time)
    )


async def manager_of(connection: AsyncConnection, user_id: int) -> str | None:
    """Return the name of the directory that manages a user, None for nobody."""
    managed = directory_account.c.managed & (directory_account.c.user_id == user_id)
    chosen = sa.select(directory_account.c.source).where(managed).order_by(directory_account.c.source)
    return (await connection.execute(chosen.limit(1))).scalar_one_or_none()
