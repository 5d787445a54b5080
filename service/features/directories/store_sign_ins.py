"""``sys.directory_session``: sign-ins with providers, and the sessions that they may open."""

from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa

from service.features.directories.schema import SignedIn, directory, directory_session
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection

_SIGNED_IN: Final = RowMapper(SignedIn, directory_session)
_ENDED: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The ``opened_time`` of an ended sign-in, which can open no session."""


async def end(
    connection: Connection,
    source: str,
    *,
    issuer: str | None = None,
    subject: str | None = None,
    sid: str | None = None,
    user_id: int | None = None,
) -> list[SignedIn]:
    """End sign-ins with a provider, so that they open no session; return them by user and device.

    With ``subject`` and ``sid``, these are the subject's sign-ins with that session or without a session;
    with ``sid`` alone, those with that session. The rows remain, so that another call can end their sessions
    after a failure.
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


async def opens(connection: Connection, user_id: int, sign_in: str) -> bool:
    """Return true if a sign-in may open a session: it has not ended, and its provider is enabled."""
    table = directory_session.c
    off = (directory.c.name == table.source) & (directory.c.kind == "oidc") & ~directory.c.enabled
    statement = sa.select(table.sign_in).where(
        table.user_id == user_id,
        table.sign_in == sign_in,
        table.opened_time > _ENDED,
        ~sa.exists().where(off),
    )
    return (await connection.execute(statement)).one_or_none() is not None


async def named(connection: Connection, user_id: int, sign_in: str) -> SignedIn | None:
    """Return the sign-in of a user by its name, or None."""
    named_so = (directory_session.c.user_id == user_id) & (directory_session.c.sign_in == sign_in)
    return await _SIGNED_IN.only(connection, named_so)
