"""``sys.directory_session``: sign-ins with providers, and by which of them a session may open."""

from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from service.features.directories.schema import SignedIn, directory, directory_session
from service.records.database.row_mapper import RowMapper

_SIGNED_IN: Final = RowMapper(SignedIn, directory_session)
_ENDED: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The ``opened_time`` of a sign-in that has ended: no session opens by it any more."""


async def end(
    connection: AsyncConnection,
    source: str,
    *,
    issuer: str | None = None,
    subject: str | None = None,
    sid: str | None = None,
    user_id: int | None = None,
) -> list[SignedIn]:
    """Let no more sessions open by sign-ins with a provider, and return these, by user and device.

    Of a subject all those are meant that may be of its session ``sid``; without a subject, those of that
    session. They stay stored: after a failure their sessions can be ended by another call.
    """
    table = directory_session.c
    of_session = table.sid == sid
    conditions = [table.source == source]
    if issuer is not None:
        conditions.append(table.issuer == issuer)
    if subject is not None:
        conditions.append(table.subject == subject)
        of_session |= table.sid.is_(None)
    if sid is not None:
        conditions.append(of_session)
    if user_id is not None:
        conditions.append(table.user_id == user_id)
    statement = sa.update(directory_session).where(*conditions).values(opened_time=_ENDED)
    made = await _SIGNED_IN.all(connection, statement.returning(*_SIGNED_IN.columns))
    return sorted(made, key=lambda each: (each.user_id, each.device))


async def opens(connection: AsyncConnection, user_id: int, sign_in: str) -> bool:
    """Tell whether a session may open by a sign-in: it has not ended, and its provider is not cut off."""
    table = directory_session.c
    off = (directory.c.name == table.source) & (directory.c.kind == "oidc") & ~directory.c.enabled
    statement = sa.select(table.sign_in).where(
        table.user_id == user_id,
        table.sign_in == sign_in,
        table.opened_time > _ENDED,
        ~sa.exists().where(off),
    )
    return (await connection.execute(statement)).one_or_none() is not None


async def named(connection: AsyncConnection, user_id: int, sign_in: str) -> SignedIn | None:
    """Return the sign-in of a user by its name, or None."""
    named_so = (directory_session.c.user_id == user_id) & (directory_session.c.sign_in == sign_in)
    return await _SIGNED_IN.only(connection, named_so)
