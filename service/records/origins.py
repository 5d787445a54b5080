"""``sys.directory_account``: links of users to directories, such as providers of sign-ins."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

import sqlalchemy as sa
from msgspec import Meta, Struct
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.row_mapper import RowMapper
from service.records.schema.of_users import directory_account


class Origin(Struct, frozen=True, kw_only=True):
    """Link of a user to ``subject`` in the directory ``source``; ``managed``: it decides the values.

    ``issuer`` is that of a provider, "" for the id of a client that provisions. ``linked_by`` are the ids of
    those who could have linked it: accounts that stood behind the account at that time; None if unknown.
    """

    source: Annotated[str, Meta(examples=["entra"])]
    issuer: Annotated[
        str, Meta(examples=["https://login.example.com"], description="Empty for what provisions accounts.")
    ]
    subject: Annotated[str, Meta(examples=["AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ"])]
    user_id: int
    managed: Annotated[bool, Meta(description="The directory that alone edits the account.")]
    create_time: datetime
    last_time: Annotated[datetime | None, Meta(description="The last sign-in there; null for none.")]
    linked_by: Sequence[int] | None


_ORIGIN: Final = RowMapper(Origin, directory_account)


async def origins_of(connection: AsyncConnection, user_id: int) -> list[Origin]:
    """Return the directories that know a user, by name."""
    statement = _ORIGIN.select.where(directory_account.c.user_id == user_id)
    return await _ORIGIN.all(
        connection, statement.order_by(directory_account.c.source, directory_account.c.create_time)
    )


async def manager_of(connection: AsyncConnection, user_id: int) -> str | None:
    """Return the name of the directory that manages a user; None for an unmanaged user."""
    managed = directory_account.c.managed & (directory_account.c.user_id == user_id)
    chosen = sa.select(directory_account.c.source).where(managed).order_by(directory_account.c.source)
    return (await connection.execute(chosen.limit(1))).scalar_one_or_none()
