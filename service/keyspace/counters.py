"""Counters of attempts, and notes of known devices: everything under ``rate:``."""

import math
import time
from typing import Any, Final, cast

from limits import RateLimitItemPerSecond
from limits.aio.storage import RedisStorage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from service.keyspace import keys
from service.keyspace.pipeline import PipelinedClient

_AT_ONCE: Final = 1000  # keys that one step of a walk looks at
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

    def __init__(self, client: PipelinedClient) -> None:
        self._client = client
        super().__init__("async+redis://", implementation="redispy", key_prefix="rate")

    def configure_bridge(self) -> None:
        """Use the client, and scripts that bear a clock that is set; called when it is made."""
        bridge = cast(RedispyBridge, self.bridge)
        # The library's type of clients is narrower than the ones that it makes itself.
        bridge.connection_getter = lambda _readonly: cast(Any, self._client)
        bridge.SCRIPT_SLIDING_WINDOW = _SETTLED % {b"window": 1} + bridge.SCRIPT_SLIDING_WINDOW
        acquire = bridge.SCRIPT_ACQUIRE_SLIDING_WINDOW
        bridge.SCRIPT_ACQUIRE_SLIDING_WINDOW = _SETTLED % {b"window": 2} + acquire


class Counters:
    """Sliding windows in the store (library ``limits``): one script counts and decides.

    Windows slide on the store's clock. A refused attempt is not counted, so that repeated attempts do not
    keep an account locked forever.
    """

    def __init__(self, client: PipelinedClient) -> None:
        self._client = client
        self._limiter = SlidingWindowCounterRateLimiter(_Storage(client))

    async def hit(self, most: int, window: int, *name: str) -> int | None:
        """Count an attempt at ``name``; at most ``most`` are allowed in ``window`` seconds.

        Returns None if it is allowed, else the whole seconds until the next attempt may be.
        """
        limit = RateLimitItemPerSecond(most, window)
        if await self._limiter.hit(limit, *name):
            return None
        return await self._seconds_left(limit, *name)

    async def _seconds_left(self, limit: RateLimitItemPerSecond, *name: str) -> int:
        stats = await self._limiter.get_window_stats(limit, *name)
        return max(1, math.ceil(stats.reset_time - time.time()))

    async def wait(self, most: int, window: int, *name: str) -> int | None:
        """Return what ``hit`` would, and count nothing."""
        limit = RateLimitItemPerSecond(most, window)
        if await self._limiter.test(limit, *name):
            return None
        return await self._seconds_left(limit, *name)

    async def clear(self, most: int, window: int, *name: str) -> None:
        """Reset the count of ``name``; ``most`` and ``window`` as in ``hit``."""
        await self._limiter.clear(RateLimitItemPerSecond(most, window), *name)

    async def clear_below(self, *name: str) -> None:
        """Reset the counts of all names that begin with ``name``, whatever their limits.

        Scans all keys of the store in small steps: for the operator, not for requests. The parts of the name
        must have no pattern characters.
        """
        pattern = f"rate:*/{'/'.join(name)}/*"
        cursor = 0
        while True:
            cursor, names = await self._client.scan(cursor, match=pattern, count=_AT_ONCE)
            if names:
                await self._client.delete(*names)
            if not cursor:
                return

    async def know(self, device: str, life: int, address: str, address_life: int) -> None:
        """Remember for so many seconds that a device and an address have logged in, by fingerprints."""
        await self._client.set(keys.known_device(device), "1", ex=life)
        await self._client.set(keys.known_address(address), "1", ex=address_life)

    async def knows(self, device: str, address: str) -> tuple[bool, bool]:
        """Return whether the device, and whether the address, is remembered."""
        known = await self._client.mget(keys.known_device(device), keys.known_address(address))
        return known[0] is not None, known[1] is not None
