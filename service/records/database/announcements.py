"""Listening to announcements of the database (PostgreSQL manual, LISTEN and NOTIFY)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

import psycopg
from psycopg import sql

from service.errors import Unavailable
from service.records.database.servers import Servers

_CONNECT_WITHIN: Final = 5.0  # seconds


async def announcements(url: str, channel: str) -> AsyncGenerator[str, None]:
    """Yield "" once listening has begun, then the text of each announcement on ``channel``.

    Uses its own connection. Announcements from before are lost: check the state itself after the first
    yield. Raises Unavailable if the connection can't be opened or ends.
    """
    try:
        async with asyncio.timeout(_CONNECT_WITHIN):
            connection = await Servers(url).connect(within=_CONNECT_WITHIN, autocommit=True)
        async with connection:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            yield ""
            async for notice in connection.notifies():
                yield notice.payload
    except (psycopg.Error, OSError) as error:  # TimeoutError is an OSError
        raise Unavailable("The database is out of reach") from error
