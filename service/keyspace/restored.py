"""Empties the session store of what belongs to a database that is no more."""

from typing import Final

from redis.asyncio import BlockingConnectionPool, Redis

from service.keyspace.connection import within

_SESSIONS: Final = (
    "auth:device:*",
    "auth:devices:*",
    "auth:refresh:*",
    "auth:spent:*",
    "auth:undelivered:*",
    "auth:online",
    "auth:online:*",
    "auth:rights",
    "auth:rights:*",
)
_BANS: Final = "auth:ban:"
_AT_ONCE: Final = 1000


class FormerSessions:
    """Ends what the store holds of another timeline. Every method raises ``Unavailable``."""

    def __init__(self, pool: BlockingConnectionPool, timeout: float) -> None:
        """``timeout`` (seconds) is that of each step."""
        self._client = Redis(connection_pool=pool)
        self._timeout = timeout

    async def end(self) -> int:
        """Delete all sessions, refresh ids and epochs of rights; return how many sessions there were.

        Deny markers stay: they refuse, and expire by themselves. Entries of the logs stay too.
        """
        ended = 0
        for pattern in _SESSIONS:
            names = await self._matching(pattern)
            ended += len(names) if pattern == _SESSIONS[0] else 0
            for first in range(0, len(names), _AT_ONCE):
                async with within(self._timeout):
                    await self._client.unlink(*names[first : first + _AT_ONCE])
        return ended

    async def banned(self) -> list[int]:
        """Return the ids of the users whose ban the store has."""
        ban_keys = await self._matching(f"{_BANS}*")
        names = [name.decode().removeprefix(_BANS) for name in ban_keys]
        return sorted(int(name) for name in names if name.isdecimal())

    async def _matching(self, pattern: str) -> list[bytes]:
        matches: set[bytes] = set()
        cursor = 0
        while True:
            async with within(self._timeout):
                cursor, names = await self._client.scan(cursor, match=pattern, count=_AT_ONCE)
            matches.update(name for name in names if isinstance(name, bytes))
            if cursor == 0:
                return sorted(matches)
