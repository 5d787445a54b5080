"""The newest announced policy revision, and the newest that was in force, for the workers of all nodes."""

import asyncio
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from service.keyspace import keys
from service.keyspace.pipeline import PipelinedClient
from service.keyspace.scripts import Plain, Scripts


class RevisionCheckpoint(NamedTuple):
    """The newest revision that a worker has had in force, and the hash of all that is recorded of it."""

    revision: int
    hash: str


class Announcement(NamedTuple):
    """Content of each readable copy, by its key, and the checkpoint of the policy that was in force.

    None is a missing value. A single session store has one copy.
    """

    copies: Mapping[str, bytes | None]
    checkpoint: RevisionCheckpoint | None

    @property
    def numbers(self) -> set[int | None]:
        """The revisions that the copies announce; None for one that is missing or can't be read."""
        return {*map(revision_in, self.copies.values())}

    @property
    def revision(self) -> int | None:
        """The newest announced revision; None if none can be read."""
        return max(filter(None, self.numbers), default=None)


class RevisionKey:
    """Reads and writes the announced revision; every method raises ``Unavailable``.

    The value also identifies the announcement: if a publication is rolled back, another one may announce the
    same number, and ``replace`` must not confuse the two. On a cluster each part has a copy of all values: an
    announcement has been written to all of them.
    """

    def __init__(self, client: PipelinedClient, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts
        self._names = scripts.names

    async def read(self, restore_epoch: str | None) -> Announcement:
        """Return the announcement, and the checkpoint of ``restore_epoch``; without one None.

        On a cluster with unavailable servers, it is that of the servers which answer.
        """
        names = [keys.POLICY_REVISION, *([] if restore_epoch is None else [keys.checkpoint(restore_epoch)])]
        copies = await self._copies(*names)
        recorded = [_checkpoint_in(value) for _, *rest in copies.values() for value in rest]
        return Announcement(
            {self._names.of(keys.POLICY_REVISION, tag): value for tag, (value, *_) in copies.items()},
            max(filter(None, recorded), default=None),
        )

    async def checkpoints(self, restore_epochs: Iterable[str]) -> dict[int, str]:
        """Return the hashes of the revisions that were in force last in ``restore_epochs``, by number."""
        names = list(map(keys.checkpoint, restore_epochs))
        copies = await self._copies(*names) if names else {}
        recorded = (_checkpoint_in(value) for copy in copies.values() for value in copy)
        return dict(checkpoint for checkpoint in recorded if checkpoint is not None)

    async def anchor(self, restore_epoch: str, checkpoint: RevisionCheckpoint) -> bool:
        """Record the policy in force; return False if it, or a newer revision, was recorded already."""
        return any(await self._everywhere("revision_witness", keys.checkpoint(restore_epoch), *checkpoint))

    async def _copies(self, *names: str) -> dict[str, list[bytes | None]]:
        """Return the values of the copies of ``names`` that can be read, by the tag of the part."""
        tags = self._names.tags
        reads = (self._client.send("MGET", *(self._names.of(name, tag) for name in names)) for tag in tags)
        copies = await asyncio.gather(*reads, return_exceptions=True)
        readable = {tag: copy for tag, copy in zip(tags, copies, strict=True) if isinstance(copy, list)}
        if not readable:
            raise next(copy for copy in copies if isinstance(copy, BaseException))
        return readable

    async def _everywhere(self, script: Plain, name: str, *arguments: str | bytes | int) -> list[Any]:
        """Run a script on all copies, also if it fails on some; raises ``Unavailable`` in the end then."""
        names = [self._names.of(name, tag) for tag in self._names.tags]
        runs = (self._scripts.run(script, [key], *arguments) for key in names)
        answers = await asyncio.gather(*runs, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers

    async def announce(self, revision: int) -> None:
        """Announce that ``revision`` is about to be published; never lowers the number.

        After it, a ``replace`` of an earlier value has no effect, whatever the number is.
        """
        await self._everywhere("revision_raise", keys.POLICY_REVISION, revision, secrets.token_hex(8))

    async def replace(self, seen: Announcement, revision: int) -> bool:
        """Set ``revision``, even a lower one, in each copy that is still as ``seen``; True if one was."""
        runs = (
            self._scripts.run("revision_replace", [key], value or b"", revision)
            for key, value in seen.copies.items()
            if revision_in(value) != revision
        )
        return any(await asyncio.gather(*runs))


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
