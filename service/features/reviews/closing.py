"""Close reviews in batches: apply the decisions, and the rule for silence to undecided items."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any, Final

import structlog

from service.administration.delegation import Delegation
from service.administration.job_edits import job_edits
from service.administration.people import People
from service.audit.entries import encode
from service.audit.journal import enter
from service.audit.redaction import kept_changes
from service.authn.revocations import Revocations
from service.authz.publishing.live import LivePolicy
from service.errors import Conflict
from service.features.reviews import notifying, revoking
from service.features.reviews import store as reviews
from service.features.reviews.evidence_content import digest_of, of_review
from service.features.reviews.population import Reviewers, Undecidable
from service.features.reviews.schema import Item, Review
from service.features.reviews.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.kernel.notify import Notices
from service.kernel.origin import FieldChange
from service.records.database.transactions import Connection, Database
from service.records.logs import inserts
from service.records.logs.events import OperationEvent
from service.settings import Settings

BATCH: Final = 500
"""The items settled by one transaction, so that other changes of rights wait at most a second."""
WITHIN: Final = 30.0
"""The maximum duration of a batch in seconds."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Closing:
    """Settles the items of reviews that are over.

    ``now`` is the session store's time; ``tell`` receives log entries. A decision that breaks an invariant or
    leaves no administrator is skipped; its item states the reason.
    """

    database: Database
    delegation: Delegation
    live: LivePolicy
    revocations: Revocations
    notices: Notices
    now: Callable[[], datetime]
    tell: Callable[[OperationEvent], object]

    async def run(self, review_id: int, *, within: float) -> bool:
        """Settle items for ``within`` seconds; True once the review is closed. Raises ``Unavailable``."""
        until = monotonic() + within
        async with self.database.snapshot(within=WITHIN) as connection:
            review = await reviews.read(connection, review_id)
            reviewers = Reviewers(review.reviewer_ids, review.reviewer_code)
            # Computed for all items before the first item is settled: settling changes the possible
            # reviewers.
            users = await reviews.unsettled_users(connection, review_id)
            people, policy = People(self.live.takeover_days), self.live.current
            undecidable = await reviewers.undecidable(connection, policy, people, self.now(), users)
        while not await self._batch(review_id, BATCH, undecidable):
            if monotonic() >= until:
                return False
        return True

    async def _batch(self, review_id: int, size: int, undecidable: Undecidable) -> bool:
        """Settle the next ``size`` items; find the first one that can't be settled by bisection."""
        try:
            return await self._settle(review_id, size, undecidable)
        except Conflict as refused:
            if size > 1:
                return await self._batch(review_id, size // 2, undecidable)
            return await self._settle(review_id, 1, undecidable, refused)

    async def _settle(
        self, review_id: int, size: int, undecidable: Undecidable, refused: Conflict | None = None
    ) -> bool:
        at = self.now()
        async with self.database.transaction(within=WITHIN) as connection:
            async with self.delegation.changing(connection):
                review = await reviews.read(connection, review_id, for_update=True)
                if review.state == "closed":
                    return True
                if review.state == "open":
                    await reviews.begin_closing(connection, review_id, at, by=None)
                items = await reviews.unsettled(connection, review_id, size)
                event = _event(review)
                if items:
                    silent = _silent(review, items, undecidable, at, refused)
                    await reviews.change_items(connection, silent)
                    decided = [revoking.with_decision(item, silent.get(item.id, {})) for item in items]
                    users, changes = await self._apply(connection, decided, at, event, refused)
                else:
                    users, changes = [], [await _close(connection, review_id, at)]
                    await notifying.closed(connection, self.notices, review, self.live.current, at)
                event = _event(review, event, changes)
            await inserts.keep_intent(connection, event.event_id, event.create_time, encode(event))
            await self.revocations.mark_first(users)
        await self.revocations.mark_all(users)
        self.tell(event)
        return not items

    async def _apply(
        self,
        connection: Connection,
        items: list[Item],
        at: datetime,
        event: OperationEvent,
        refused: Conflict | None,
    ) -> tuple[list[int], list[FieldChange]]:
        entry = str(event.event_id)
        if refused is not None:
            await revoking.refuse(connection, items[0], str(refused), at, entry)
            return [], []
        by = f"@{revoking.target(items[0].review_id)}"
        settled = await revoking.settle(connection, self.notices, items, at, entry, by=by)
        return sorted(settled.users), settled.changes


def _silent(
    review: Review, items: Sequence[Item], undecidable: Undecidable, at: datetime, refused: Conflict | None
) -> dict[int, dict[str, Any]]:
    """Return the decisions of the rule for silence on the undecided ``items``, by item id."""
    silent: dict[int, dict[str, Any]] = {}
    for item in items:
        if item.decision is None:
            last = refused is not None and refused.extra.get("rule") == "last_administrator"
            finding = "last_administrator" if last else item.finding or undecidable.finding(item.user_id)
            verdict = "keep" if finding else review.on_silence
            silent[item.id] = {"decision": verdict, "decision_time": at, "finding": finding}
    return silent


async def _close(connection: Connection, review_id: int, at: datetime) -> FieldChange:
    """Close a review; return the change with the final digest of its evidence."""
    await reviews.close(connection, review_id, at)
    content = await of_review(connection, review_id)
    return FieldChange(revoking.target(review_id), "content", None, digest_of(content))


def _event(
    review: Review, begun: OperationEvent | None = None, changes: list[FieldChange] | None = None
) -> OperationEvent:
    """Return the entry of a batch; ``begun`` has its id and time."""
    known: dict[str, Any] = {}
    if begun is not None:
        known = {"event_id": begun.event_id, "create_time": begun.create_time}
    targets = dict.fromkeys([revoking.target(review.id), *(change.target for change in changes or ())])
    return OperationEvent(
        module="review",
        action="close",
        kind="UPDATE",
        method="JOB",
        url=f"/api/review/{review.id}/close",
        status=200,
        elapsed_ms=0.0,
        user_name=review.closed_by,
        targets=tuple(targets),
        changes=kept_changes(changes) if changes else None,
        change_count=len(changes) if changes else None,
        **known,
    )


async def close_due(database: Database, settings: Settings, notices: Notices) -> Sentence:
    """Close the reviews that are over by the session store's clock; used by a job.

    A review that can't be closed does not stop the others; the first failure is raised at the end.
    """
    async with database.snapshot() as connection:
        if not await reviews.is_due(connection):
            return sentence("no_review_over")
    events: list[OperationEvent] = []
    closed = 0
    failures: list[Exception] = []
    try:
        async with job_edits(database, settings) as edits:
            now, live = edits.clock.instant, edits.live
            delegation = Delegation(live, now)
            closing = Closing(
                database, delegation, live, edits.revocations, notices, now=now, tell=events.append
            )
            async with database.snapshot() as connection:
                due = await reviews.due(connection, now())
            for review_id in due:
                try:
                    closed += await closing.run(review_id, within=_JOB_WITHIN / len(due))
                except Exception as error:  # noqa: BLE001 - the others are closed nevertheless
                    _log.exception("a review could not be closed", review=review_id)
                    failures.append(error)
    finally:
        for event in events:
            await enter(settings, event)
    if failures:
        raise failures[0]
    return sentence("reviews_closed", closed=closed, due=len(due))


_JOB_WITHIN: Final = 300.0  # seconds, of the job's 600
