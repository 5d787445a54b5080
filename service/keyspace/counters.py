"""Counters of attempts, and notes of known devices: everything under ``rate:``."""

import math
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar, cast

from limits import RateLimitItemPerSecond
from limits.aio.storage import RedisStorage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from service.errors import Unavailable
from service.keyspace import keys
from service.keyspace.restored import unlink, walk
from service.keyspace.servers import Servers

Result = TypeVar("Result")
_SETTLED: Final = b"""
local function settle(key, most)
  if redis.call('pttl', key) > most then redis.call('pexpire', key, most) end
end
settle(KEYS[1], 1000 * ARGV[%(window)d])
settle(KEYS[2], 2000 * ARGV[%(window)d])
"""
"""Put before the scripts of windows, whose seconds are the argument ``window``.

A window that ends later than any can was begun while the store's clock was ahead. It counts as begun now: the
attempts of all that time would be counted as those of one window.
"""


class _Storage(RedisStorage):
    """The library's, over a client of ours.

    It does not import each other client that is installed: 50 ms for every worker.
    """

    DEPENDENCIES = {"redis": RedisStorage.DEPENDENCIES["redis"]}  # noqa: RUF012 - the library declares it so

    def __init__(self, servers: Servers) -> None:
        self._client = servers.client
        self._named = partial(_named, servers)
        super().__init__("async+redis://", implementation="redispy", key_prefix="rate")

    def configure_bridge(self) -> None:
        """Use the client, and scripts that bear a clock that is set; called when it is made."""
        bridge = cast(RedispyBridge, self.bridge)
        # The library's type of clients is narrower than the ones that it makes itself.
        bridge.prefixed_key = self._named  # type: ignore[method-assign]
        bridge.connection_getter = lambda _readonly: cast(Any, self._client)
        bridge.SCRIPT_SLIDING_WINDOW = _SETTLED % {b"window": 1} + bridge.SCRIPT_SLIDING_WINDOW
        acquire = bridge.SCRIPT_ACQUIRE_SLIDING_WINDOW
        bridge.SCRIPT_ACQUIRE_SLIDING_WINDOW = _SETTLED % {b"window": 2} + acquire


def _named(servers: Servers, name: str) -> str:
    """Return the key of what is counted; on a cluster of a part whose server answers.

    So a server that is away is no reason to refuse the logins of others: what it has counted is counted anew.
    """
    names, documented = servers.names, f"rate:{name}"
    home = names.of(documented, names.part(name.removesuffix("/-1")))
    if servers.client.is_up(home):
        return home
    place = names.tags.index(names.part(name.removesuffix("/-1")))
    others = (names.of(documented, tag) for tag in (*names.tags[place:], *names.tags[:place]))
    return next(filter(servers.client.is_up, others), home)


class Counters:
    """Sliding windows in the store (library ``limits``): one script counts and decides.

    Windows slide on the store's clock. A refused attempt is not counted, so that repeated attempts do not
    keep an account locked forever.
    """

    def __init__(self, servers: Servers, timeout: float) -> None:
        """``timeout`` (seconds) is that of each step of a walk."""
        self._servers = servers
        self._client = servers.client
        self._timeout = timeout
        self._limiter = SlidingWindowCounterRateLimiter(_Storage(servers))

    async def hit(self, most: int, window: int, *name: str) -> int | None:
        """Count an attempt at ``name``; at most ``most`` are allowed in ``window`` seconds.

        Returns None if it is allowed, else the whole seconds until the next attempt may be.
        """
        limit = RateLimitItemPerSecond(most, window)
        if await self._tried(lambda: self._limiter.hit(limit, *name)):
            return None
        return await self._seconds_left(limit, *name)

    async def _tried(self, call: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of a call; on a cluster it may have to find out first that a server is away."""
        try:
            return await call()
        except Unavailable:
            if not self._servers.names.apart:
                raise
            return await call()

    async def _seconds_left(self, limit: RateLimitItemPerSecond, *name: str) -> int:
        stats = await self._limiter.get_window_stats(limit, *name)
        return max(1, math.ceil(stats.reset_time - time.time()))

    async def wait(self, most: int, window: int, *name: str) -> int | None:
        """Return what ``hit`` would, and count nothing."""
        limit = RateLimitItemPerSecond(most, window)
        if await self._tried(lambda: self._limiter.test(limit, *name)):
            return None
        return await self._seconds_left(limit, *name)

    async def clear(self, most: int, window: int, *name: str) -> None:
        """Reset the count of ``name``; ``most`` and ``window`` as in ``hit``."""
        limit = RateLimitItemPerSecond(most, window)
        await self._tried(lambda: self._limiter.clear(limit, *name))

    async def clear_below(self, *name: str) -> None:
        """Reset the counts of all names that begin with ``name``, whatever their limits.

        Scans all keys of the store in small steps: for the operator, not for requests. The parts of the name
        must have no pattern characters.
        """
        for server in await self._servers.primaries():
            async for names in walk(server.pool, f"rate*/{'/'.join(name)}/*", self._timeout):
                await unlink(server.pool, names, self._timeout)

    async def know(self, device: str, life: int, address: str, address_life: int) -> None:
        """Remember for so many seconds that a device and an address have logged in, by fingerprints."""
        for name, seconds in ((keys.known_device(device), life), (keys.known_address(address), address_life)):
            await self._tried(partial(self._remember, name, seconds))

    async def _remember(self, name: str, life: int) -> None:
        await self._client.set(self._known(name), "1", ex=life)

    async def knows(self, device: str, address: str) -> tuple[bool, bool]:
        """Return whether the device, and whether the address, is remembered."""
        names = (keys.known_device(device), keys.known_address(address))
        known = await self._tried(lambda: self._client.values(*map(self._known, names)))
        return known[0] is not None, known[1] is not None

    def _known(self, name: str) -> str:
        return _named(self._servers, name.removeprefix("rate:"))
