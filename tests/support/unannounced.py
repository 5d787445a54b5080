"""For tests of the database alone: a session store that is told nothing."""

from __future__ import annotations

from service.authz.publishing.announced import AnnouncedRevision
from service.keyspace import Announcement, RevisionCheckpoint


class Unannounced(AnnouncedRevision):
    """Announces nothing and asks nobody."""

    def __init__(self) -> None:
        """Need nothing."""

    async def read(self) -> Announcement:
        """Know nothing."""
        return Announcement(None, None)

    async def keep(self, newest: int, announced: Announcement) -> None:
        """Do nothing."""

    async def anchor(self, _witness: RevisionCheckpoint) -> bool:
        """Record nothing."""
        return False
