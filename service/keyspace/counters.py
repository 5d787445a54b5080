"""Counters of attempts, and notes of known devices: everything under ``rate:``."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TypeVar

from service.errors import Unavailable
from service.keyspace import keys
from service.keyspace.restored import unlink, walk
from service.keyspace.scripts import Scripts
from service.keyspace.servers import Servers

Result = TypeVar("Result")


class Counters:
    """Sliding windows in the store: one script counts and decides.

    Windows slide on the store's clock. A refused attempt is not counted, so that repeated attempts do not
    keep an account locked forever.
    """

    def __init__(self, servers: Servers, scripts: Scripts, timeout: float) -> None:
        """``timeout`` (seconds) is that of each step of a walk."""
        self._servers = servers
        self._client = servers.client
        self._scripts = scripts
        self._timeout = timeout

    def hit(self, most: int, window: int, *name: str) -> Awaitable[int | None]:
        """Count an attempt at ``name``; at most ``most``, one or more, are allowed in ``window`` seconds.

        Yields None if it is allowed, else the whole seconds until the next attempt may be.
        """
        return self._tried(most, window, name, 1)

    def wait(self, most: int, window: int, *name: str) -> Awaitable[int | None]:
        """Yield what ``hit`` would, and count nothing."""
        return self._tried(most, window, name, 0)

    async def _tried(self, most: int, window: int, name: tuple[str, ...], counts: int) -> int | None:
        documented = keys.attempts(most, window, name)
        wait = await self._again_if_apart(partial(self._run, documented, most, 1000 * window, counts))
        return math.ceil(wait / 1000) if wait else None

    def _run(self, documented: str, *arguments: int) -> Awaitable[int]:
        key = self._key(documented)
        return self._scripts.run("attempt", (key, f"{key}/-1"), *arguments)

    async def clear(self, most: int, window: int, *name: str) -> None:
        """Reset the count of ``name``; ``most`` and ``window`` as in ``hit``."""
        await self._again_if_apart(partial(self._clear, keys.attempts(most, window, name)))

    async def _clear(self, documented: str) -> None:
        key = self._key(documented)
        await self._client.remove(key, f"{key}/-1")

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
        lives = {keys.known_device(device): life, keys.known_address(address): address_life}
        await self._again_if_apart(partial(self._remember, lives))

    async def _remember(self, lives: Mapping[str, int]) -> None:
        """Set the names for so many seconds each, in one round trip where one server has them."""
        sets = (self._client.ask("SET", self._key(name), "1", "EX", life) for name, life in lives.items())
        await asyncio.gather(*sets)

    async def knows(self, device: str, address: str) -> tuple[bool, bool]:
        """Return whether the device, and whether the address, is remembered."""
        names = (keys.known_device(device), keys.known_address(address))
        known = await self._again_if_apart(lambda: self._client.values(*map(self._key, names)))
        return known[0] is not None, known[1] is not None

    def _again_if_apart(self, call: Callable[[], Awaitable[Result]]) -> Awaitable[Result]:
        """Yield the result of a call; on a cluster it may have to find out first that a server is away."""
        return _again(call) if self._servers.names.apart else call()

    def _key(self, documented: str) -> str:
        """Return the key of a counter; on a cluster that of a part whose server answers.

        So an unavailable server does not refuse other logins: its counts begin anew.
        """
        names = self._servers.names
        if not names.apart:
            return documented
        home = names.part(documented.removeprefix("rate:"))
        place = names.tags.index(home)
        candidates = [names.of(documented, tag) for tag in (*names.tags[place:], *names.tags[:place])]
        return next(filter(self._client.is_up, candidates), candidates[0])


async def _again(call: Callable[[], Awaitable[Result]]) -> Result:
    try:
        return await call()
    except Unavailable:
        return await call()
