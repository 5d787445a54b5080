"""Removes the keys of a former database from the session store."""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from redis.asyncio import BlockingConnectionPool, Redis

from service.keyspace.connection import within
from service.keyspace.servers import Servers

_SESSIONS: Final = (
    "auth:device:*",
    "auth:devices:*",
    "auth:idtoken:*",
    "auth:refresh:*",
    "auth:spent:*",
    "auth:undelivered:*",
    "auth:online*",
    "auth:rights*",
)
_BAN: Final = re.compile(rb"auth:ban:\{?([0-9]+)\}?")
AT_ONCE: Final = 1000
"""Keys that one step of a walk looks at."""


async def walk(pool: BlockingConnectionPool, pattern: str, timeout: float) -> AsyncIterator[list[bytes]]:  # noqa: ASYNC109 - of each step
    """Yield the keys of a server that match ``pattern``, some more than once; raises ``Unavailable``."""
    client = Redis(connection_pool=pool)
    cursor = 0
    while True:
        async with within(timeout):
            cursor, names = await client.scan(cursor, match=pattern, count=AT_ONCE)
        yield [name for name in names if isinstance(name, bytes)]
        if cursor == 0:
            return


async def unlink(pool: BlockingConnectionPool, names: Sequence[bytes], timeout: float) -> None:  # noqa: ASYNC109 - of all
    """Remove keys of a server, which may be of several slots; raises ``Unavailable``."""
    if names:
        async with within(timeout), Redis(connection_pool=pool).pipeline(transaction=False) as commands:
            for name in names:
                commands.unlink(name)
            await commands.execute()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FormerSessions:
    """Ends the store's data of another timeline. Every method raises ``Unavailable``."""

    servers: Servers
    timeout: float
    """Seconds for each step."""

    async def end(self) -> int:
        """Delete all sessions, refresh ids and epochs of rights; return the number of deleted sessions.

        Deny markers stay: they refuse, and expire by themselves. Entries of the logs stay too.
        """
        ended = 0
        for server in await self.servers.primaries():
            for pattern in _SESSIONS:
                names = {name async for some in walk(server.pool, pattern, self.timeout) for name in some}
                ended += len(names) if pattern == _SESSIONS[0] else 0
                for first in range(0, len(names), AT_ONCE):
                    await unlink(server.pool, sorted(names)[first : first + AT_ONCE], self.timeout)
        return ended

    async def banned(self) -> list[int]:
        """Return the ids of the users with a ban in the store."""
        ids: set[int] = set()
        for server in await self.servers.primaries():
            async for names in walk(server.pool, "auth:ban:*", self.timeout):
                ids.update(int(read[1]) for name in names if (read := _BAN.fullmatch(name)))
        return sorted(ids)
