"""Connections to the session store, and the one place where its faults become ``Unavailable``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import BlockingConnectionPool
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from service.errors import Unavailable
from service.keyspace.sentinel import Primary, PrimaryConnection, SecurePrimaryConnection, read_url

POOL_SIZE = 16


def open_pool(url: str, timeout: float, primary: Primary | None = None) -> BlockingConnectionPool:
    """Return a pool for ``url``; it connects when it is first used.

    ``url`` is redis://, rediss:// or unix://, or that of a store behind Sentinel, with its ``primary``. The
    pool waits for a free connection, up to ``timeout`` seconds; redis-py's default pool raises at its limit.
    No retries: a script whose answer was lost may have run, and ``within`` bounds the whole call. RESP2,
    because the handshake of RESP3 asks for notifications that Valkey doesn't have.
    """
    arguments: dict[str, Any] = {
        "max_connections": POOL_SIZE,
        "timeout": timeout,
        "socket_connect_timeout": timeout,
        "socket_timeout": None,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "driver_info": None,
    }
    if primary is None:
        return BlockingConnectionPool.from_url(url, **arguments)
    kind = SecurePrimaryConnection if primary.url.tls else PrimaryConnection
    return BlockingConnectionPool(
        connection_class=kind, primary=primary, **arguments, **primary.url.of_primary
    )


def primary_of(url: str, timeout: float) -> Primary | None:
    """Return what finds the primary of the store at ``url``; None if the URL is that of one server."""
    behind = read_url(url)
    return None if behind is None else Primary(behind, timeout)


def new_connection(pool: BlockingConnectionPool) -> AbstractConnection:
    """Return a connection configured like the pool's, but not part of it; it connects when first used."""
    connection: AbstractConnection = pool.make_connection()  # type: ignore[no-untyped-call]  # redis-py's gap
    return connection


async def connect(pool: BlockingConnectionPool, replies: asyncio.Protocol) -> asyncio.StreamWriter:
    """Open a connection like the pool's for a ``Pipeline``: ``replies`` gets what the store sends on it.

    redis-py has done all that comes before the first command. Raises RedisError or OSError.
    """
    connection = new_connection(pool)
    try:
        await connection.connect()  # type: ignore[no-untyped-call]  # redis-py's gap
        writer = connection._writer  # noqa: SLF001 - redis-py has no public way to give its socket away
        assert writer is not None  # noqa: S101 - it is connected
        writer.transport.set_protocol(replies)
    except BaseException:
        await connection.disconnect(nowait=True)
        raise
    connection._reader = connection._writer = None  # noqa: SLF001 - or it would close the socket
    return writer


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """Run the block; raise ``Unavailable`` if it takes longer than ``seconds`` or the store fails."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except (RedisError, OSError) as error:  # TimeoutError is an OSError
        raise Unavailable("The session store is out of reach") from error
