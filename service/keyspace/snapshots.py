"""The metrics that the workers of one machine leave for one another: one hash for each machine."""

from __future__ import annotations

import time
from typing import Final

from redis.asyncio import BlockingConnectionPool, Redis

from service.keyspace import keys
from service.keyspace.connection import within

FRESH: Final = 15.0
"""Seconds after which a worker that has left no new snapshot counts as gone."""


class Snapshots:
    """Snapshots by worker. A hash that nobody writes to expires; one worker that has gone is left out.

    Times are this machine's, which wrote all of them.
    """

    def __init__(self, pool: BlockingConnectionPool, timeout: float, machine: str) -> None:
        self._client = Redis(connection_pool=pool)
        self._timeout = timeout
        self._key = keys.snapshots(machine)

    async def post(self, worker: str, snapshot: bytes) -> None:
        """Leave the snapshot of a worker in place of its last one; Unavailable."""
        async with within(self._timeout), self._client.pipeline(transaction=False) as both:
            both.hset(self._key, worker, b"%d %b" % (time.time(), snapshot))
            both.expire(self._key, round(4 * FRESH))
            await both.execute()

    async def read(self) -> dict[str, bytes]:
        """Return the snapshots of the workers that still leave any; Unavailable."""
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
        """Take the snapshot of a worker away; Unavailable."""
        async with within(self._timeout):
            await self._client.hdel(self._key, worker)
