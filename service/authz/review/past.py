"""The policy of a past revision, whole or as far as one question needs it."""

from __future__ import annotations

import asyncio
from typing import Final

from service.audit.chain.revision_seals import RevisionSeals
from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.authz.publishing.shipped import Shipped
from service.records import policy_history
from service.records.database.transactions import Connection
from service.records.policy_history import Place


class PastPolicies:
    """Rebuilds policies of past revisions from their kept lines and this node's static policy.

    The static policy is that of this moment: history keeps the stored policy alone.
    """

    def __init__(self, shipped: Shipped, seals: RevisionSeals) -> None:
        """``seals`` say which revisions are as they were published."""
        self.shipped: Final = shipped
        self.seals: Final = seals
        self._turn = asyncio.Lock()

    async def of(self, connection: Connection, revision: int, place: Place | None = None) -> Policy:
        """Return the policy of ``revision``: whole, or with the lines that could decide about ``place`` only.

        Answers of the layers resource and endpoint about a request, or of the layers of codes about a code,
        are those of the whole policy. One is built at a time, in a thread. The caller makes sure that the
        lines of ``revision`` are kept; see ``history.is_kept``. Raises RevisionUntrusted unless all of them
        are those that were published.
        """
        async with self._turn:
            await self.seals.require(connection, revision)
            lines = await policy_history.lines_at(connection, revision, place)
            return await asyncio.to_thread(self._build, lines, revision)

    def _build(self, lines: list[policy_history.PublishedLine], revision: int) -> Policy:
        return self.shipped.policy(Lines(Rule(*line) for line in lines), {}, revision)
