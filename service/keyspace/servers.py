"""The servers of a session store: one, or the primary that Sentinel names; a feature serves clusters."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, Protocol

from redis.asyncio import BlockingConnectionPool

from service.kernel.feature import sole
from service.keyspace.checks import Checks, ServerChecks
from service.keyspace.connection import cluster_of, connect, open_pool, primary_of
from service.keyspace.keys import Names
from service.keyspace.pipeline import Pipeline, PipelinedClient
from service.keyspace.scripts import Elsewhere, Scripts
from service.settings import Redis as RedisSettings


class Server(NamedTuple):
    """A server that takes writes: its address ('' for the only one), connections, and the tag of a part.

    The tag is None if it has no part yet.
    """

    address: str
    pool: BlockingConnectionPool
    tag: str | None


class Servers(Protocol):
    """The parts of a session store."""

    @property
    def names(self) -> Names:
        """The names of keys here."""

    @property
    def client(self) -> PipelinedClient:
        """Sends commands to where their keys are."""

    @property
    def checks(self) -> Checks:
        """The checks of requests."""

    @property
    def elsewhere(self) -> Elsewhere | None:
        """Effects of scripts on other servers, if others exist."""

    def uses(self, scripts: Scripts) -> None:
        """Take the scripts that run here."""

    async def primaries(self) -> list[Server]:
        """Return the servers that take writes; raises ``Unavailable``."""

    def covered(self) -> float:
        """Return the part of all slots that have a server, from 0 to 1."""

    def calls(self) -> Iterator[tuple[dict[str, str], Pipeline]]:
        """Yield the connections, with labels of their use."""

    async def follow(self) -> None:
        """Follow the primaries until cancelled, wherever they are."""

    async def close(self) -> None:
        """Disconnect."""


class SingleServer:
    """One server, or the primary of a group."""

    elsewhere: Elsewhere | None = None

    def __init__(self, url: str, timeout: float) -> None:
        """Raises ``StoreUrlError``."""
        self._primary = primary_of(url, timeout)
        self._pool = pool = open_pool(url, timeout, self._primary)
        self._command, self._check = (Pipeline(partial(connect, pool), timeout) for _ in range(2))
        demoted = None if self._primary is None else self._primary.drop
        self.names = Names()
        self.client = PipelinedClient(pool, self._command, demoted)
        self.checks = ServerChecks(self._check)

    def uses(self, scripts: Scripts) -> None:
        """Do nothing: they need no other server."""

    async def primaries(self) -> list[Server]:
        return [Server("", self._pool, "")]

    def covered(self) -> float:
        """Return 1: it has all keys."""
        return 1.0

    def calls(self) -> Iterator[tuple[dict[str, str], Pipeline]]:
        """Yield the two connections: that of the checks of requests, and that of every other command."""
        yield {"call": "check"}, self._check
        yield {"call": "command"}, self._command

    async def follow(self) -> None:
        """Drop the connections as soon as Sentinel names another primary."""
        if self._primary is not None:
            await self._primary.follow()

    async def close(self) -> None:
        """Disconnect."""
        await self._command.close()
        await self.client.aclose()
        await self._pool.disconnect()
        if self._primary is not None:
            await self._primary.close()


def open_servers(settings: RedisSettings) -> Servers:
    """Return the servers of the store that ``settings`` name; raises ``StoreUrlError``."""
    cluster = cluster_of(settings.url, settings.timeout)
    if cluster is None:
        return SingleServer(settings.url, settings.timeout)
    servers: Servers = sole("session-store-cluster")(*cluster, settings.timeout)
    return servers
