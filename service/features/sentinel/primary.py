"""The primary of a session store watched by Sentinel: looked up for each connection, and followed.

Follows Valkey's guidelines for such clients (https://valkey.io/topics/sentinel-clients/): ask one sentinel
after another for the address, then ask the server there whether it is the primary.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote
from weakref import WeakSet

import structlog
from redis.asyncio import Redis
from redis.asyncio.connection import Connection, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import ReadOnlyError, RedisError

from service.keyspace.connection import SENTINEL_PORT, arguments_of
from service.settings.checks import sentinel_url

EVERY: Final = 1.0
"""Seconds between two checks for another primary."""
_ADDRESS: Final = "SENTINEL GET-MASTER-ADDR-BY-NAME"  # redis-py knows the command by this name

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Group:
    """A primary and its replicas, watched by sentinels under a ``name``.

    ``sentinels`` are hosts and ports. ``of_sentinels`` and ``of_primary`` are redis-py's connection arguments
    for each kind.
    """

    sentinels: tuple[tuple[str, int], ...]
    name: str
    tls: bool
    of_sentinels: dict[str, Any] = field(repr=False)
    of_primary: dict[str, Any] = field(repr=False)


def group_of(url: str) -> Group | None:
    """Return the group in the URL of a store behind Sentinel; None for any other URL.

    User and password belong to the primary. The query has ``sentinel_username`` and ``sentinel_password``,
    ``db``, and redis-py's arguments for TLS, which apply to both.
    """
    read = sentinel_url(url)
    if read is None:
        return None
    query = dict(read.query)
    of_sentinels = [query.pop(f"sentinel_{name}", "") for name in ("username", "password")]
    of_primary = [unquote(part) for part in read.user.partition(":")[::2]]
    number = query.pop("db", "0")
    return Group(
        sentinels=tuple((host.name or "localhost", host.port or SENTINEL_PORT) for host in read.hosts),
        name=read.group,
        tls=read.scheme == "rediss",
        of_sentinels=arguments_of(query, *of_sentinels),
        of_primary=arguments_of({**query, "db": number}, *of_primary),
    )


class Primary:
    """The primary of one group, as named by the sentinels; it tracks all connections to the primary."""

    def __init__(self, group: Group, timeout: float) -> None:
        """The sentinels share ``timeout`` (seconds), so that each can be asked in time."""
        self.group: Final = group
        self.connection_class: type[Connection] = SecurePrimaryConnection if group.tls else PrimaryConnection
        self.arguments: dict[str, Any] = {"primary": self, **group.of_primary}
        share = timeout / (len(group.sentinels) + 1)
        self._sentinels = [
            Redis(
                host=host,
                port=port,
                ssl=group.tls,
                decode_responses=True,
                protocol=2,
                driver_info=None,
                max_connections=4,
                socket_connect_timeout=share,
                socket_timeout=share,
                retry=Retry(NoBackoff(), 0),
                **group.of_sentinels,
            )
            for host, port in group.sentinels
        ]
        self._known: tuple[str, int] | None = None
        self._open: WeakSet[asyncio.StreamWriter] = WeakSet()

    async def address(self) -> tuple[str, int]:
        """Return host and port of the primary, asking the last answering sentinel first.

        A new primary drops all connections. Raises redis-py's ConnectionError if no sentinel knows the
        primary.
        """
        for sentinel in list(self._sentinels):
            with suppress(RedisError, OSError):
                answer = await sentinel.execute_command(_ADDRESS, self.group.name)  # type: ignore[no-untyped-call]  # redis-py's gap
                if answer is not None:
                    self._sentinels.sort(key=lambda client: client is not sentinel)
                    self._follow(answer)
                    return answer[0], answer[1]
        raise Disconnected(f"no sentinel knows the primary of {self.group.name}")

    async def follow(self) -> None:
        """Ask every ``EVERY`` seconds until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            with suppress(RedisError, OSError):
                await self.address()

    def opened(self, writer: asyncio.StreamWriter) -> None:
        """Register a connection to the primary."""
        self._open.add(writer)

    def drop(self) -> None:
        """Break all connections: commands in progress fail, and later ones reconnect."""
        for writer in list(self._open):
            writer.transport.abort()
        self._open.clear()

    async def close(self) -> None:
        """Disconnect from the sentinels."""
        for sentinel in self._sentinels:
            await sentinel.aclose()

    def _follow(self, address: tuple[str, int]) -> None:
        before, self._known = self._known, address
        if before is not None and before != address:
            _log.warning(
                "another server is the primary of the session store", address=f"{address[0]}:{address[1]}"
            )
            self.drop()


class PrimaryConnection(Connection):
    """A connection to the current primary at the time of connecting."""

    def __init__(self, *, primary: Primary, **arguments: Any) -> None:
        """``arguments`` are redis-py's connection arguments, without an address."""
        self._primary = primary
        super().__init__(**arguments)

    async def _connect(self) -> None:
        self.host, self.port = await self._primary.address()
        await super()._connect()  # type: ignore[no-untyped-call]  # redis-py's gap
        assert self._writer is not None  # noqa: S101 - it is connected
        self._primary.opened(self._writer)

    async def on_connect_check_health(self, check_health: bool = True) -> None:
        """Log in, and make sure that the server is a primary: it may have been demoted meanwhile."""
        await super().on_connect_check_health(check_health)
        await self.send_command("HELLO", 2)
        words = await self.read_response()
        if dict(zip(words[::2], words[1::2], strict=False)).get(b"role") != b"master":
            raise Disconnected("the server is no primary any more")

    async def read_response(self, *arguments: Any, **named: Any) -> Any:
        """Return the next reply. A server that refuses to write was demoted: all connections are dropped."""
        try:
            return await super().read_response(*arguments, **named)
        except ReadOnlyError:
            self._primary.drop()
            raise


class SecurePrimaryConnection(PrimaryConnection, SSLConnection):
    """A connection to the current primary by TLS."""


def primary_of(url: str, timeout: float) -> Primary | None:
    """Return the primary of the group that ``url`` names; None for the URL of one server."""
    group = group_of(url)
    return None if group is None else Primary(group, timeout)
