"""Connections to the session store, and the one place where its faults become ``Unavailable``."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlencode, urlsplit

from redis.asyncio import BlockingConnectionPool
from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from service.errors import Unavailable
from service.kernel.core_sentences import sentence
from service.kernel.feature import sole
from service.kernel.operator_error import OperatorError
from service.settings.checks import cluster_url, sentinel_url

POOL_SIZE = 16
_PORT: Final = 6379
SENTINEL_PORT: Final = 26379
"""The port of a sentinel that names none."""
Address = tuple[str, int]
# The value may be a secret, so nothing else of redis-py's message is shown.
_PARAMETER: Final = re.compile(r"(?:Invalid value for|unexpected keyword argument) '(\w{1,40})'")


class StoreUrlError(OperatorError, ValueError):
    """The URL of the session store can't be used; the message has at most the name of a parameter."""


class Primary(Protocol):
    """The primary of a store whose servers others watch; a feature finds it."""

    connection_class: type[Connection]
    """Connects to the primary, wherever it is then."""
    arguments: dict[str, Any]
    """Those of its connections."""

    async def follow(self) -> None:
        """Look whether another server is the primary, until cancelled."""

    def drop(self) -> None:
        """Break all connections to the primary."""

    async def close(self) -> None:
        """Disconnect."""


def open_pool(url: str, timeout: float, primary: Primary | None = None) -> BlockingConnectionPool:
    """Return a pool for ``url``; it connects when it is first used.

    ``url`` is redis://, rediss:// or unix://, or that of a store behind Sentinel, with its ``primary``. The
    pool waits for a free connection, up to ``timeout`` seconds; redis-py's default pool raises at its limit.
    No retries: a script whose answer was lost may have run, and ``within`` bounds the whole call. RESP2,
    because the handshake of RESP3 asks for notifications that Valkey doesn't have. Raises ``StoreUrlError``.
    """
    arguments = _of_pool(timeout)
    with _readable():
        if primary is None:
            pool = BlockingConnectionPool.from_url(url, **arguments)
        else:
            given = {**arguments, **primary.arguments}
            pool = BlockingConnectionPool(connection_class=primary.connection_class, **given)
        pool.connection_class(**pool.connection_kwargs)  # now, not at the first command
        return pool


def _of_pool(timeout: float) -> dict[str, Any]:
    return {
        "max_connections": POOL_SIZE,
        "timeout": timeout,
        "socket_connect_timeout": timeout,
        "socket_timeout": None,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "driver_info": None,
    }


OpenNode = Callable[[Address], BlockingConnectionPool]


def arguments_of(query: Mapping[str, str], username: str, password: str) -> dict[str, Any]:
    """Return redis-py's arguments for a connection; it reads those of the query itself."""
    arguments: dict[str, Any] = {**parse_url(f"redis://?{urlencode(query)}")}
    arguments.pop("connection_class", None)
    return arguments | {name: text for name, text in (("username", username), ("password", password)) if text}


def cluster_of(url: str, timeout: float) -> tuple[list[Address], OpenNode] | None:
    """Return the servers that the URL of a cluster names, and what makes pools for them; None for other URLs.

    The pools are like those of ``open_pool``. Raises ``StoreUrlError``.
    """
    with _readable():
        read = cluster_url(url)
        if read is None:
            return None
        secrets = [unquote(part) for part in read.user.partition(":")[::2]]
        arguments = _of_pool(timeout) | arguments_of(dict(read.query), *secrets)
        kind = SSLConnection if read.scheme == "rediss" else Connection

        def opened(address: Address) -> BlockingConnectionPool:
            host, port = address
            return BlockingConnectionPool(connection_class=kind, host=host, port=port, **arguments)

        pool = opened(("localhost", _PORT))
        pool.connection_class(**pool.connection_kwargs)  # now, not at the first command
        return [(host.name or "localhost", host.port or _PORT) for host in read.hosts], opened


@contextmanager
def _readable() -> Iterator[None]:
    """Raise ``StoreUrlError`` where redis-py can't read the URL of the block."""
    try:
        yield
    except (TypeError, ValueError, RedisError) as error:
        named = _PARAMETER.search(str(error))
        reason = f"its parameter {named[1]} is unknown or has a wrong value" if named else "it can't be read"
        raise StoreUrlError(f"redis.url can't be used: {reason}") from None


def primary_of(url: str, timeout: float) -> Primary | None:
    """Return the finder of the primary of the store at ``url``; None for the URL of one server.

    Raises ``StoreUrlError``.
    """
    with _readable():
        if sentinel_url(url) is None:
            return None
        primary: Primary = sole("session-store-primary")(url, timeout)
        return primary


def new_connection(pool: BlockingConnectionPool) -> AbstractConnection:
    """Return a connection configured like the pool's, but not part of it; it connects when first used."""
    connection: AbstractConnection = pool.make_connection()  # type: ignore[no-untyped-call]  # redis-py's gap
    return connection


async def connect(pool: BlockingConnectionPool, replies: asyncio.Protocol) -> asyncio.StreamWriter:
    """Open a connection like the pool's for a ``Pipeline``: ``replies`` gets the store's data on it.

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
        raise Unavailable(sentence("session_store_unavailable")) from error


def tls_addresses(url: str) -> Iterator[tuple[str, int]]:
    """Yield host and port of the servers of ``url`` if they speak TLS: the store, or all its sentinels."""
    if (behind := sentinel_url(url)) is not None:
        if behind.scheme == "rediss":
            yield from ((host.name or "localhost", host.port or SENTINEL_PORT) for host in behind.hosts)
        return
    if (cluster := cluster_url(url)) is not None:
        if cluster.scheme == "rediss":
            yield from ((host.name or "localhost", host.port or _PORT) for host in cluster.hosts)
        return
    parts = urlsplit(url)
    if parts.scheme == "rediss":
        yield parts.hostname or "localhost", parts.port or _PORT
