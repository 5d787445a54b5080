"""The newest announced policy revision, for the workers of all nodes."""

from __future__ import annotations

import secrets

from redis.asyncio import BlockingConnectionPool, Redis

from service.keyspace import keys
from service.keyspace.connection import within
from service.keyspace.scripts import Scripts


class RevisionKey:
    """Reads and writes the announced revision; every method raises ``Unavailable``.

    The value also identifies the announcement: if a publication is rolled back, another one may announce the
    same number, and ``replace`` must not confuse the two.
    """

    def __init__(self, pool: BlockingConnectionPool, scripts: Scripts, timeout: float) -> None:
        """``timeout`` is in seconds."""
        self._client = Redis(connection_pool=pool)
        self._scripts = scripts
        self._timeout = timeout

    async def read(self) -> bytes | None:
        """Return the stored value, for ``revision_in`` and ``replace``, or None."""
        async with within(self._timeout):
            value = await self._client.get(keys.POLICY_REVISION)
        assert not isinstance(value, str)  # noqa: S101 - the client decodes nothing
        return value

    async def announce(self, revision: int) -> None:
        """Announce that ``revision`` is about to be published; never lowers the number.

        Whatever the number is, a ``replace`` of what was read before does nothing any more.
        """
        await self._scripts.run("revision_raise", revision, secrets.token_hex(8))

    async def restore(self, revision: int) -> None:
        """Store a published ``revision`` again if the key is missing; never lowers the number."""
        await self._scripts.run("revision_raise", revision, "")

    async def replace(self, seen: bytes, revision: int) -> bool:
        """Set ``revision``, even a lower one, if the value is still ``seen``; returns whether it was."""
        return bool(await self._scripts.run("revision_replace", seen, revision))


def revision_in(value: bytes | None) -> int | None:
    """Return the number in a value of the key; None if it is missing or can't be read."""
    if value is None:
        return None
    number = value.partition(b":")[0]
    return int(number) if number.isdigit() and len(number) <= 18 else None  # noqa: PLR2004 - a bigint
