"""How many workers decide by a revision that has just been published."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final

from service.authz.publishing.watch import PolicyWatch

PATIENCE: Final = 1.0
"""Seconds that the answer to a publishing write waits for other workers."""

_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.1


class Acknowledgements:
    """Counts the workers of all nodes that have reported a revision."""

    def __init__(self, watch: PolicyWatch) -> None:
        self._watch = watch

    async def by(self, revision: int) -> tuple[int, int]:
        """Return how many workers decide by ``revision`` or a newer one, and how many there are.

        Waits up to ``PATIENCE`` seconds until all do that can. When the database can't be asked, this
        worker is the only one that is known.
        """
        deadline = monotonic() + PATIENCE
        pause = _FIRST_PAUSE
        while True:
            workers = await self._watch.workers()
            late = [worker for worker in workers if worker.revision < revision]
            if not any(worker.fault is None for worker in late) or monotonic() + pause > deadline:
                return len(workers) - len(late), len(workers)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
