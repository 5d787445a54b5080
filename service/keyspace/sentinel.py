"""The primary of a session store that Sentinel watches: found for each connection, and followed.

Valkey's guidelines for such clients (https://valkey.io/topics/sentinel-clients/): ask one sentinel after
another for the address, then ask the server there whether it is the primary.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit
from weakref import WeakSet

import structlog
from redis.asyncio import Redis
from redis.asyncio.connection import Connection, SSLConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Disconnected
from redis.exceptions import ReadOnlyError, RedisError

EVERY: Final = 1.0
"""Seconds between two questions whether another server is the primary."""
_SCHEMES: Final = {"redis+sentinel": "redis", "rediss+sentinel": "rediss"}
_PORT: Final = 26379
_ADDRESS: Final = "SENTINEL GET-MASTER-ADDR-BY-NAME"  # redis-py knows the command by this name

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SentinelUrl:
    """The parts of ``redis+sentinel://user:password@host1:port1,host2/name?db=0``.

    ``sentinels`` are hosts and ports, ``group`` is the name of the primary. ``of_sentinels`` and
    ``of_primary`` are redis-py's arguments for the connections to each of them.
    """

    sentinels: tuple[tuple[str, int], ...]
    group: str
    tls: bool
    of_sentinels: dict[str, Any] = field(repr=False)
    of_primary: dict[str, Any] = field(repr=False)


def read_url(url: str) -> SentinelUrl | None:
    """Return the parts of the URL of a store behind Sentinel; None for any other URL.

    User and password are those of the primary; the query has ``sentinel_username`` and
    ``sentinel_password``, ``db``, and redis-py's arguments for TLS, which hold for both.
    """
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES:
        return None
    scheme = _SCHEMES[parts.scheme]
    user, at, hosts = parts.netloc.rpartition("@")
    query = dict(parse_qsl(parts.query))
    credentials = [quote(query.pop(f"sentinel_{name}", ""), safe="") for name in ("username", "password")]
    number = query.pop("db", "0")
    options = urlencode(query)
    return SentinelUrl(
        sentinels=tuple(map(_address, hosts.split(","))),
        group=parts.path.strip("/"),
        tls=scheme == "rediss",
        of_sentinels=_arguments(f"{scheme}://{':'.join(credentials)}@sentinel?{options}"),
        of_primary=_arguments(f"{scheme}://{user}{at}primary?db={number}&{options}"),
    )


def _address(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    return parts.hostname or "localhost", parts.port or _PORT


def _arguments(url: str) -> dict[str, Any]:
    found: dict[str, Any] = dict(parse_url(url))
    for name in ("host", "connection_class"):
        found.pop(name, None)
    return found


class Primary:
    """The primary of one group, as the sentinels name it. All connections to it are known here."""

    def __init__(self, url: SentinelUrl, timeout: float) -> None:
        """``timeout`` (seconds) is shared by the sentinels, so that each can be asked in time."""
        self.url: Final = url
        share = timeout / (len(url.sentinels) + 1)
        self._sentinels = [
            Redis(
                host=host,
                port=port,
                ssl=url.tls,
                decode_responses=True,
                protocol=2,
                driver_info=None,
                max_connections=4,
                socket_connect_timeout=share,
                socket_timeout=share,
                retry=Retry(NoBackoff(), 0),
                **url.of_sentinels,
            )
            for host, port in url.sentinels
        ]
        self._known: tuple[str, int] | None = None
        self._open: WeakSet[asyncio.StreamWriter] = WeakSet()

    async def address(self) -> tuple[str, int]:
        """Return host and port of the primary; the sentinel that has answered last is asked first.

        If it is another one than before, all connections are dropped. Raises redis-py's ConnectionError if
        no sentinel knows it.
        """
        for sentinel in list(self._sentinels):
            with suppress(RedisError, OSError):
                found = await sentinel.execute_command(_ADDRESS, self.url.group)  # type: ignore[no-untyped-call]  # redis-py's gap
                if found is not None:
                    self._sentinels.sort(key=lambda one: one is not sentinel)
                    self._follow(found)
                    return found[0], found[1]
        raise Disconnected(f"no sentinel knows the primary of {self.url.group}")

    async def follow(self) -> None:
        """Ask every ``EVERY`` seconds until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            with suppress(RedisError, OSError):
                await self.address()

    def opened(self, writer: asyncio.StreamWriter) -> None:
        """Note a connection to the primary."""
        self._open.add(writer)

    def drop(self) -> None:
        """Break all connections: commands under way fail, and the next ones connect again."""
        for writer in list(self._open):
            writer.transport.abort()
        self._open.clear()

    async def close(self) -> None:
        """Disconnect from the sentinels."""
        for sentinel in self._sentinels:
            await sentinel.aclose()

    def _follow(self, found: tuple[str, int]) -> None:
        before, self._known = self._known, found
        if before is not None and before != found:
            _log.warning(
                "another server is the primary of the session store", address=f"{found[0]}:{found[1]}"
            )
            self.drop()


class PrimaryConnection(Connection):
    """A connection to the primary, wherever it is when the connection is opened."""

    def __init__(self, *, primary: Primary, **arguments: Any) -> None:
        """``arguments`` are those of redis-py's connection, without an address."""
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
    """The same by TLS."""
