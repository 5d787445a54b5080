"""Waits for a policy revision: until it is in force here, or until the workers of all nodes have it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.watch import PolicyWatch
from service.errors import RevisionUnknown, Unavailable
from service.kernel.core_sentences import sentence
from service.records.database.transactions import Database
from service.records.published import policy_revisions

PATIENCE: Final = 2.0
"""Seconds that a request waits for a revision, including the check that it exists."""

ASK_EVERY: Final = 0.05
"""Seconds between two reads of the newest revision, for any number of waiting requests."""


class PublishedRevisions:
    """Lets requests wait for published revisions, and refuses unpublished ones at once.

    The database is asked only about revisions newer than those known here, by one request at a time for all
    that wait. So any number of unknown revisions costs at most 20 short queries a second.
    """

    def __init__(self, live: LivePolicy, read_newest: Callable[[], Awaitable[int]]) -> None:
        """``read_newest`` returns the newest published revision, 0 before the first; see ``reader_of``."""
        self._live = live
        self._read_newest = read_newest
        self._turn = asyncio.Lock()
        self._newest = 0
        self._asked = -ASK_EVERY  # when the answer ``_newest`` was asked for

    async def at_least(self, revision: int) -> Policy:
        """Return the policy in force here once it is of ``revision`` or newer.

        Raises RevisionUnknown at once if no node has published it. Raises Unavailable if it is not in force
        here within ``PATIENCE`` seconds, or the database cannot be read.
        """
        if revision <= self._live.current.revision:
            return self._live.current
        arrived = monotonic()
        if revision > await self._published(revision, arrived):
            raise RevisionUnknown
        return await self._live.at_least(revision, within=PATIENCE - (monotonic() - arrived))

    async def announced(self, revision: int | None) -> Policy:
        """Return the policy in force here once it is the newest of those published up to ``revision``.

        None stands for an announcement that was lost: then the newest of all counts. An announcement comes
        before the commit, and the commit may fail: a revision that is not published by now is not waited for.
        Unavailable as for ``at_least``.
        """
        if revision is not None and revision <= self._live.current.revision:
            return self._live.current
        arrived = monotonic()
        newest = await self._published(revision, arrived)
        needed = newest if revision is None else min(revision, newest)
        return await self._live.at_least(needed, within=PATIENCE - (monotonic() - arrived))

    async def _published(self, revision: int | None, arrived: float) -> int:
        """Return the newest published revision, as of ``arrived`` unless ``revision`` is known already."""
        if revision is not None and revision <= self._newest:
            return self._newest
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._newest_since(arrived)
        except TimeoutError:
            raise Unavailable(sentence("revision_unread")) from None

    async def _newest_since(self, moment: float) -> int:
        """Return the newest revision by an answer that was asked for after ``moment``."""
        async with self._turn:
            if self._asked <= moment:
                await asyncio.sleep(self._asked + ASK_EVERY - monotonic())
                asked = monotonic()
                self._newest = await self._read_newest()
                self._asked = asked
            return self._newest


def reader_of(database: Database) -> Callable[[], Awaitable[int]]:
    """Return the function that reads the newest published revision; it raises Unavailable."""

    async def read() -> int:
        async with database.transaction() as connection:
            latest = await policy_revisions.latest(connection)
        return 0 if latest is None else latest.revision

    return read


ACKNOWLEDGED_WITHIN: Final = 1.0
"""Seconds that the answer to a publishing write waits for other workers."""

_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Acknowledgements:
    """Counts the workers of all nodes that have reported a revision."""

    watch: PolicyWatch

    async def by(self, revision: int) -> tuple[int, int]:
        """Return the number of workers that decide by ``revision`` or a newer one, and the number of all.

        Waits up to ``ACKNOWLEDGED_WITHIN`` seconds until all able workers do. If the database cannot be
        asked, only this worker is known.
        """
        deadline = monotonic() + ACKNOWLEDGED_WITHIN
        pause = _FIRST_PAUSE
        while True:
            workers = await self.watch.workers()
            late = [worker for worker in workers if worker.revision < revision]
            if not any(worker.fault is None for worker in late) or monotonic() + pause > deadline:
                return len(workers) - len(late), len(workers)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
