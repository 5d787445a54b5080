"""Checks that the session store can be written, for the readiness check."""

from __future__ import annotations

from typing import Final

from redis.asyncio import BlockingConnectionPool, Redis
from redis.exceptions import NoPermissionError, ResponseError

from service.errors import Unavailable
from service.kernel.metrics import Health
from service.keyspace import keys
from service.keyspace.connection import within

_LIFE: Final = 10_000  # milliseconds


class Probe:
    """Tests the store with a write."""

    def __init__(self, pool: BlockingConnectionPool, timeout: float) -> None:
        self._client = Redis(connection_pool=pool)
        self._timeout = timeout

    async def health(self) -> Health:
        """Write a key that expires after 10 seconds; raises ``Unavailable``.

        ``read_only``: the store answers but refuses the write: it is a replica, is out of memory, failed to
        save a snapshot, or has too few replicas.
        """
        try:
            async with within(self._timeout):
                await self._client.set(keys.PROBE, b"1", px=_LIFE)
        except Unavailable as refusal:
            cause = refusal.__cause__
            if isinstance(cause, ResponseError) and not isinstance(cause, NoPermissionError):
                return Health("read_only", {"reason": _reason(cause)})
            raise
        return Health("up")


def _reason(error: ResponseError) -> str:
    """Return redis-py's name for the store's refusal, or the store's own code, such as ``MISCONF``."""
    return str(error).split(" ", 1)[0] if type(error) is ResponseError else type(error).__name__
