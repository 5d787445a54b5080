"""The metrics that the workers of one machine share: one hash for each machine."""

from __future__ import annotations

import time
from typing import Final

from redis.asyncio import BlockingConnectionPool, Redis

from service.keyspace import keys
from service.keyspace.connection import within

FRESH: Final = 15.0
"""Seconds without a new snapshot after which a worker counts as gone."""


class Snapshots:
    """Snapshots by worker; each method raises ``Unavailable``.

    Snapshots of workers that have gone are removed, and an unused hash expires. Times are this machine's.
    """

    def __init__(self, pool: BlockingConnectionPool, timeout: float, machine: str) -> None:
        self._client = Redis(connection_pool=pool)
        self._timeout = timeout
        self._key = keys.snapshots(machine)

    async def post(self, worker: str, snapshot: bytes) -> None:
        """Replace the snapshot of a worker."""
        async with within(self._timeout), self._client.pipeline(transaction=False) as both:
            both.hset(self._key, worker, b"%d %b" % (time.time(), snapshot))
            both.expire(self._key, round(4 * FRESH))
            await both.execute()

    async def read(self) -> dict[str, bytes]:
        """Return the snapshots of running workers, by worker."""
        least = time.time() - FRESH
        fresh: dict[str, bytes] = {}
        gone: list[bytes] = []
        async with within(self._timeout):
            found: dict[bytes, bytes] = await self._client.hgetall(self._key)  # type: ignore[assignment]  # redis-py's gap
            for worker, text in found.items():
                at, _, snapshot = text.partition(b" ")
                if int(at) >= least:
                    fresh[worker.decode()] = snapshot
                else:
                    gone.append(worker)
            if gone:
                await self._client.hdel(self._key, *gone)
        return fresh

    async def withdraw(self, worker: str) -> None:
        """Remove the snapshot of a worker."""
        async with within(self._timeout):
            await self._client.hdel(self._key, worker)
