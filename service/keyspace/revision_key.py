"""The newest announced policy revision, and the newest that was in force, for the workers of all nodes."""

import secrets
from collections.abc import Iterable
from typing import NamedTuple

from redis.asyncio import BlockingConnectionPool, Redis

from service.keyspace import keys
from service.keyspace.connection import within
from service.keyspace.scripts import Scripts


class RevisionCheckpoint(NamedTuple):
    """The newest revision that a worker has had in force, and the hash of all that is recorded of it."""

    revision: int
    hash: str


class Announcement(NamedTuple):
    """The announcement, for ``replace``, and the checkpoint of what was in force; None if missing."""

    value: bytes | None
    checkpoint: RevisionCheckpoint | None

    @property
    def revision(self) -> int | None:
        """The announced revision; None if it is missing or can't be read."""
        return revision_in(self.value)


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

    async def read(self, restore_epoch: str | None) -> Announcement:
        """Return the announcement, and the checkpoint of ``restore_epoch``; without one None."""
        names = [] if restore_epoch is None else [keys.checkpoint(restore_epoch)]
        value, *checkpoints = await self._values(keys.POLICY_REVISION, *names)
        return Announcement(value, _checkpoint_in(checkpoints[0]) if checkpoints else None)

    async def checkpoints(self, restore_epochs: Iterable[str]) -> dict[int, str]:
        """Return the hashes of the revisions that were in force last in ``restore_epochs``, by number."""
        recorded = map(_checkpoint_in, await self._values(*map(keys.checkpoint, restore_epochs)))
        return dict(checkpoint for checkpoint in recorded if checkpoint is not None)

    async def anchor(self, restore_epoch: str, checkpoint: RevisionCheckpoint) -> bool:
        """Record what is in force; return False if it, or a newer revision, was recorded already."""
        return bool(await self._scripts.run("revision_witness", restore_epoch, *checkpoint))

    async def _values(self, *names: str) -> list[bytes | None]:
        async with within(self._timeout):
            stored = await self._client.mget(names)
        return [
            None if isinstance(content, str) else content for content in stored
        ]  # the client decodes nothing

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


def revision_in(value: bytes | None, separator: bytes = b":") -> int | None:
    """Return the number in a value of the key; None if it is missing or can't be read."""
    if value is None:
        return None
    number = value.partition(separator)[0]
    return int(number) if number.isdigit() and len(number) <= 18 else None  # noqa: PLR2004 - a bigint


def _checkpoint_in(value: bytes | None) -> RevisionCheckpoint | None:
    revision = revision_in(value, b" ")
    if value is None or revision is None:
        return None
    return RevisionCheckpoint(revision, value.partition(b" ")[2].decode("ascii", "replace"))
