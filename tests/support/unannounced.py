"""For tests of the database alone: a session store that is told nothing."""

from __future__ import annotations

from service.authz.publishing.announced import AnnouncedRevision


class Unannounced(AnnouncedRevision):
    """Announces nothing and asks nobody."""

    def __init__(self) -> None:
        """Need nothing."""

    async def keep(self, newest: int) -> None:
        """Do nothing."""
