"""Keeps the session store's announcement equal to the newest revision published in the database."""

from dataclasses import dataclass
from functools import cached_property

from service.audit.seals import Judgement, hash_of
from service.authz.engine.policy import Policy
from service.kernel.restore_epoch import FIRST, CurrentRestoreEpoch
from service.keyspace import Announcement, RevisionCheckpoint, RevisionKey
from service.records.database.transactions import Database
from service.records.published import policy_revisions
from service.records.published.policy_revisions import NewestRow, PolicyRevision


@dataclass(frozen=True, eq=False, repr=False)
class AnnouncedRevision:
    """The announced revision, by which a worker learns within a request that it decides by an old one."""

    key: RevisionKey
    database: Database
    restore_epoch: CurrentRestoreEpoch
    """That of ``database``: another one has a checkpoint of its own."""

    async def read(self) -> Announcement:
        """Return the announcement; once the restore epoch is known, with the checkpoint of the past policy.

        Read before the database, the checkpoint is of no later revision than the database must have. Raises
        ``Unavailable``.
        """
        return await self.key.read(self.restore_epoch.name)

    async def keep(self, known: int, announced: Announcement, newest: int) -> None:
        """Correct ``announced`` if it differs from ``known``, the newest revision to decide by.

        ``newest`` is the newest number of the database, read after ``announced``. A lower announcement is
        raised, since the revision was published by a command or a start. A higher one is withdrawn when its
        change was rolled back, and a missing one is written anew. Raises ``Unavailable``.
        """
        numbers = announced.numbers
        if None in numbers or (announced.revision or 0) > known:
            await self._settle(announced, known, newest)
        elif numbers != {known}:
            await self.key.replace(announced, known)

    async def anchor(self, checkpoint: RevisionCheckpoint) -> bool:
        """Record the revision that is in force; return whether it was not recorded before.

        Raises ``Unavailable``.
        """
        return await self.key.anchor(self.restore_epoch.name or FIRST, checkpoint)

    async def _settle(self, seen: Announcement, known: int, newest: int) -> None:
        async with self.database.transaction() as connection:
            # A publisher holds this lock from the announcement until its commit or rollback. With the lock
            # held here, each announced revision, also one lost by the store, is either published or never
            # will be.
            if not await policy_revisions.try_lock(connection):
                return
            latest = await policy_revisions.latest(connection)
            if latest is not None and latest.revision == newest:
                await self.key.replace(seen, known)


async def leave_to_workers(_revision: int) -> None:
    """Announce nothing, for commands, which need no session store: each worker mends the announcement."""


@dataclass(frozen=True)
class Newest:
    """The newest revision, the mark of its row, the judgement of its seal, and the earlier announcement."""

    latest: PolicyRevision
    mark: NewestRow | None
    judgement: Judgement
    announced: Announcement

    @property
    def revision(self) -> int:
        return self.latest.revision

    @cached_property
    def checkpoint(self) -> RevisionCheckpoint:
        """The part of it that can be kept elsewhere."""
        return RevisionCheckpoint(self.latest.revision, hash_of(self.latest))

    def known(self, in_force: Policy) -> int:
        """Return the newest number that requests have to be decided by.

        For an untrusted revision, this is the announced number: an attacker with the session store may have
        published it in another way. An attacker who only writes to the database cannot announce a revision.
        """
        if self.judgement.is_trusted:
            return self.revision
        return max(in_force.revision, min(self.announced.revision or 0, self.revision))

    def lost_above(self, in_force: Policy) -> int | None:
        """Return the highest number that was in force if the database has lost that revision; else None.

        ``in_force`` was in force before the database was read.
        """
        checkpoint = self.announced.checkpoint
        same_digest = self.revision != in_force.revision or self.latest.digest == in_force.digest
        if self.revision >= in_force.revision and same_digest and not self.is_behind(self.announced):
            return None
        return max(in_force.revision, self.revision, checkpoint.revision if checkpoint else 0)

    def is_behind(self, announced: Announcement) -> bool:
        """Return True if another revision of this number, or a later one, was in force."""
        checkpoint = announced.checkpoint
        if checkpoint is None or checkpoint.revision < self.revision:
            return False
        return checkpoint != self.checkpoint
