"""The newest revision that the database has, beside what is in force and what was announced."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from service.audit.chain.revision_seals import Judgement, hash_of
from service.authz.engine.policy import Policy
from service.keyspace import Announcement, RevisionCheckpoint
from service.records.policy_revisions import NewestRow, PolicyRevision


@dataclass(frozen=True)
class Newest:
    """The newest revision, the mark of its row, what its seal says, and what was announced before."""

    latest: PolicyRevision
    mark: NewestRow | None
    judgement: Judgement
    announced: Announcement

    @property
    def revision(self) -> int:
        """Its number."""
        return self.latest.revision

    @cached_property
    def checkpoint(self) -> RevisionCheckpoint:
        """What can be kept elsewhere of it."""
        return RevisionCheckpoint(self.latest.revision, hash_of(self.latest))

    def known(self, in_force: Policy) -> int:
        """Return the newest number that requests have to be decided by.

        Of a revision that is not trusted, that is what was announced: somebody with the session store may
        have published it in another way. Who only writes to the database can't announce one.
        """
        if self.judgement.is_trusted:
            return self.revision
        return max(in_force.revision, min(self.announced.revision or 0, self.revision))

    def lost_above(self, in_force: Policy) -> int | None:
        """Return the highest number that was in force if the database has no longer what was; else None.

        ``in_force`` was so before the database was read.
        """
        checkpoint = self.announced.checkpoint
        same_digest = self.revision != in_force.revision or self.latest.digest == in_force.digest
        if self.revision >= in_force.revision and same_digest and not self.is_behind(self.announced):
            return None
        return max(in_force.revision, self.revision, checkpoint.revision if checkpoint else 0)

    def is_behind(self, announced: Announcement) -> bool:
        """Tell whether another revision of this number, or a later one, was in force."""
        checkpoint = announced.checkpoint
        if checkpoint is None or checkpoint.revision < self.revision:
            return False
        return checkpoint != self.checkpoint
