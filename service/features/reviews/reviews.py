"""Starts reviews, decides in them, and closes them before their deadline, each in a unit of work."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

from service.administration import change_log
from service.administration.older_nodes import require_known
from service.administration.people import People, reason_of
from service.administration.reasons import require_reason
from service.administration.unit_of_work import PublishingRequiredError, Saved, UnitOfWork, UnitsOfWork
from service.authz.engine.policy import Decision
from service.authz.engine.rules import GRANT, REVIEW
from service.authz.publishing.live import LivePolicy
from service.errors import (
    Conflict,
    NotFound,
    PermissionDenied,
    RowFault,
    RowsRefused,
    ValidationFailed,
)
from service.features.reviews import notifying, revoking
from service.features.reviews import store as reviews
from service.features.reviews.closing import Closing
from service.features.reviews.population import Reviewers, draw
from service.features.reviews.schema import Item, NewReview, Review
from service.features.reviews.sentences import sentence
from service.features.reviews.store import Progress, Visible
from service.kernel.clock import from_seconds
from service.kernel.coded_sentences import Sentence
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.notify import Notices
from service.kernel.origin import ORIGIN, values_change
from service.kernel.request_objects import CLOSE_OTHERS, CLOSE_OWN, WhoseAssignment, assignment_for
from service.kernel.value_rules import SHORT_LINE
from service.kernel.write import Write
from service.records.database.transactions import Connection
from service.records.published.policy_workers import WINDOWS

_WITHIN: Final = 30.0  # maximum seconds for starting a review
_DECISION: Final = (
    "decision",
    "until",
    "decision_reason",
    "reviewer_id",
    "reviewer_name",
    "decision_ids",
    "decision_time",
    "decision_entry",
)
"""The columns of a decision about an item."""
_CLOSE_WITHIN: Final = 5.0  # seconds that a request spends on closing; the job continues


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reviews:
    """Reviews of assignments. ``now`` is the session store's time, in seconds since the epoch.

    All raise ``NotFound``, and what ``UnitsOfWork`` raises.
    """

    units: UnitsOfWork
    live: LivePolicy
    notices: Notices
    closing: Closing
    clock: Callable[[], float]

    @property
    def _people(self) -> People:
        return People(self.live.takeover_days)

    def now(self) -> datetime:
        """Return the instant by which reviews begin and end."""
        return from_seconds(self.clock())

    async def start(self, write: Write, given: Mapping[str, Any]) -> Saved[tuple[Review, Progress]]:
        """Begin a review of the current assignments of a scope; a dry run returns their number.

        Raises ``ValidationFailed`` for a deadline in the past, a reviewer code without a Button, and a scope
        with no or too many assignments. Raises ``PermissionDenied`` if a user or a role of the scope holds a
        code that the caller lacks: a review can revoke its assignments. The first review with a reviewer code
        publishes a policy line for that code.
        """
        try:
            return await self._started(self.units.of_rights(write, within=_WITHIN, pace="bulk"), given)
        except PublishingRequiredError:
            # The first review with a reviewer code publishes a line.
            begun = self.units.publishing(
                write, sentence("cause_review_begun", code=given["reviewers"]["code"])
            )
            return await self._started(begun, given)

    async def _started(
        self, begun: AbstractAsyncContextManager[UnitOfWork], given: Mapping[str, Any]
    ) -> Saved[tuple[Review, Progress]]:
        async with begun as unit:
            unit.check.require_session("review")
            now, policy = self.now(), self.live.current
            if fault := SHORT_LINE(given["title"]):
                raise ValidationFailed(("title", fault))
            if given["deadline"] <= now:
                raise ValidationFailed(("deadline", sentence("not_in_future")))
            chosen = given["reviewers"]
            reviewers = Reviewers(chosen.get("userIds"), chosen.get("code"))
            if reviewers.code is not None and not policy.rules.codes(GRANT, reviewers.code):
                raise ValidationFailed(("reviewers.code", sentence("no_button_with_code")))
            if not policy.rules.codes(REVIEW, assignment_for("others", reviewers.code)):
                unit.require_publishing()
                await require_known(unit.connection, REVIEW)
            undecidable = partial(reviewers.undecidable, unit.connection, policy, self._people, now)
            known = self.live.invariants
            drawn = await draw(
                unit.connection, policy, known, given["scope"], undecidable=undecidable, at=now
            )
            users, roles = ({getattr(item, name) for item in drawn.items} for name in ("user_id", "role_id"))
            await unit.check.require_reviewed(unit.connection, users, roles)
            unit.authorized()
            new = NewReview(
                title=given["title"],
                scope=given["scope"],
                reviewer_ids=None if reviewers.ids is None else sorted(reviewers.ids),
                reviewer_code=reviewers.code,
                on_silence=given["on_silence"],
                apply=given["apply"],
                deadline=given["deadline"],
                author_id=unit.caller.user_id,
                author_name=unit.caller.user_name,
                roles=drawn.roles,
                policy_revision=policy.revision,
                create_time=now,
            )
            made = await reviews.create(unit.connection, new, drawn.items)
            unit.changes += _change(made.id, f"begun about {len(drawn.items)} assignments")
            await notifying.opened(unit.connection, self.notices, made, policy, now)
            await unit.made(made)
        findings = sum(item.finding is not None for item in drawn.items)
        progress = Progress(len(drawn.items), 0, 0, findings)
        return Saved((made, progress), None if unit.change is None else unit.policy)

    async def decide(
        self, write: Write, review_id: int, item_id: int, given: Mapping[str, Any], visible: Visible | None
    ) -> Saved[Item]:
        """Decide about an item of a ``visible`` review: ``decision``, ``reason``, and ``until`` to shorten.

        A later decision replaces a decision that is not applied yet. Raises ``PermissionDenied`` with the
        denying layer, and ``ValidationFailed``. Raises ``Conflict`` if the review is over, the item is
        settled, a directory gives the assignment, or the assignment can't be ended.
        """
        async with self.units.of_rights(write) as unit:
            review, now = await self._open(unit, review_id, visible)
            decided = await self._decided(unit, review, item_id, given, now)
            (saved,) = await self._save(unit, review, [decided], now)
        return Saved(saved)

    async def decide_all(
        self,
        write: Write,
        review_id: int,
        item_ids: Sequence[int],
        given: Mapping[str, Any],
        visible: Visible | None,
    ) -> Saved[list[Item]]:
        """Decide alike about many items, about all of them or none, by the rules of ``decide`` for each.

        Raises ``ValidationFailed`` for a decision that no item can have. Raises ``RowsRefused`` with a fault
        for each refused item; ``row`` is its position, from 1.
        """
        if len({*item_ids}) < len(item_ids):
            raise ValidationFailed(("itemIds", sentence("item_twice")))
        faults: list[RowFault] = []
        decided: list[Item] = []
        async with self.units.of_rights(write, within=_WITHIN) as unit:
            review, now = await self._open(unit, review_id, visible)
            _require_decision(given, review, now)
            for row, item_id in enumerate(item_ids, 1):
                try:
                    decided.append(await self._decided(unit, review, item_id, given, now))
                except (PermissionDenied, NotFound, Conflict, ValidationFailed) as refusal:
                    denial = refusal if isinstance(refusal, PermissionDenied) else None
                    message = refusal.stated()
                    if isinstance(refusal, ValidationFailed):  # about the end of this item
                        message = refusal.faults[0].sentence
                    faults.append(RowFault(row, f"itemIds[{row - 1}]", message, refusal.code, denial))
            if faults:
                raise RowsRefused(faults)
            saved = await self._save(unit, review, decided, now)
        return Saved(saved)

    async def _open(
        self, unit: UnitOfWork, review_id: int, visible: Visible | None
    ) -> tuple[Review, datetime]:
        """Return a ``visible`` review for a decision, and the instant of the decision."""
        unit.check.require_session("review")
        change_log.concerns(revoking.target(review_id))
        return await reviews.read(unit.connection, review_id, visible), self.now()

    async def _decided(
        self, unit: UnitOfWork, review: Review, item_id: int, given: Mapping[str, Any], now: datetime
    ) -> Item:
        """Return an item with the ``given`` decision, if the caller may make it; raise the refusal else."""
        item = await reviews.item(unit.connection, review.id, item_id)
        change_log.concerns(change_log.user_target(item.user_name))
        decision = await _allowed(unit, review, item, self._people, now)
        _require_open(review, now)
        if item.outcome is not None:
            raise Conflict(sentence("item_done", outcome=item.outcome), rule="history")
        until = given.get("until")
        _require_decision(given, review, now)
        if until is not None:
            if item.valid_until is not None and until >= item.valid_until:
                raise ValidationFailed(("until", sentence("review_extends")))
            await require_known(unit.connection, WINDOWS)
        origin = ORIGIN.get()
        values = {
            "decision": given["decision"],
            "until": until,
            "decision_reason": given["reason"],
            "reviewer_id": unit.caller.user_id,
            "reviewer_name": unit.caller.user_name,
            "decision_ids": [decision.id],
            "decision_time": now,
            "decision_entry": None if origin is None else origin.request_id,
        }
        decided = revoking.with_decision(item, values)
        await revoking.require_possible(unit.connection, decided)
        return decided

    async def _save(
        self, unit: UnitOfWork, review: Review, decided: Sequence[Item], now: datetime
    ) -> list[Item]:
        """Store decisions, and apply them if the review does so at once; return the items."""
        changed = {item.id: {name: getattr(item, name) for name in _DECISION} for item in decided}
        await reviews.change_items(unit.connection, changed)
        for item in decided:
            ids = ", ".join(item.decision_ids or ())
            unit.changes += _change(review.id, f"item {item.id}: {item.decision} ({ids})")
        if review.apply != "at_once":
            return [*decided]
        entry = decided[0].decision_entry
        settled = await revoking.settle(unit.connection, self.notices, decided, now, entry)
        unit.refreshing |= settled.users
        unit.changes += settled.changes
        return [revoking.with_decision(item, settled.items[item.id]) for item in decided]

    async def same_persons(
        self, connection: Connection, review: Review, reviewer_id: int, user_ids: Collection[int]
    ) -> dict[int, Sentence]:
        """Return the users that count as the same person as a user, with the reason, by id.

        Empty for a review that is over.
        """
        if review.state != "open":
            return {}
        persons = await self._people.of(connection, [reviewer_id], self.now(), beside=user_ids)
        return {
            user_id: await reason_of(connection, same)
            for user_id in sorted(user_ids)
            if (same := persons.same(reviewer_id, user_id)) is not None
        }

    async def waiting(
        self, connection: Connection, review_ids: Collection[int], reviewer_id: int
    ) -> dict[int, int]:
        """Return for each review how many undecided items are about other persons than ``reviewer_id``."""
        if not review_ids:
            return {}  # as for most callers of the list
        undecided = await reviews.undecided(connection, review_ids)
        users = {user_id for counts in undecided.values() for user_id in counts}
        persons = await self._people.of(connection, [reviewer_id], self.now(), beside=users)
        others, yielding = set[int](), CooperativeYield()
        for user_id in users:
            if persons.same(reviewer_id, user_id) is None:
                others.add(user_id)
            await yielding.after_item()
        return {
            review_id: sum(count for user_id, count in counts.items() if user_id in others)
            for review_id, counts in undecided.items()
        }

    async def close(self, write: Write, review_id: int, visible: Visible | None) -> Saved[Review]:
        """Close a ``visible`` review before its deadline, for its author or a caller allowed by ``review``.

        A job completes closings that take longer than some seconds. Raises ``Conflict`` if the review is
        over.
        """
        async with self.units.of_rights(write) as unit:
            unit.check.require_session("review")
            change_log.concerns(revoking.target(review_id))
            review = await reviews.read(unit.connection, review_id, visible, for_update=True)
            own = review.author_id == unit.caller.user_id
            decision = unit.check.ask(REVIEW, CLOSE_OWN if own else CLOSE_OTHERS)
            if not decision.allowed:
                raise PermissionDenied(sentence("closing_not_allowed"), decision)
            if review.state != "open":
                raise Conflict(sentence("review_in_state", state=review.state), rule="history")
            await reviews.begin_closing(unit.connection, review_id, self.now(), by=unit.caller.user_name)
            unit.changes += _change(review_id, f"closed by {unit.caller.user_name} ({decision.id})")
        if write.dry_run is None:
            await self.closing.run(review_id, within=_CLOSE_WITHIN)
        return Saved(review)


def asks(review: Review, user_id: int) -> bool:
    """Return true if a review names a user among its reviewers, or names none."""
    return review.reviewer_ids is None or user_id in review.reviewer_ids


async def _allowed(unit: UnitOfWork, review: Review, item: Item, people: People, at: datetime) -> Decision:
    """Return the decision that allows the caller to decide about an item; raise the refusal otherwise."""
    caller = unit.caller.user_id
    persons = await people.of(unit.connection, {caller, item.user_id}, at)
    same = persons.same(caller, item.user_id)
    whose: WhoseAssignment = "self" if same is not None else "others" if asks(review, caller) else "unasked"
    decision = unit.check.ask(REVIEW, assignment_for(whose, review.reviewer_code))
    if not decision.allowed:
        why = sentence("item_not_decidable")
        if same is not None:
            why = sentence("item_not_decidable_since", why=await reason_of(unit.connection, same))
        raise PermissionDenied(why, decision)
    return decision


def _require_open(review: Review, now: datetime) -> None:
    if review.state != "open" or review.deadline <= now:
        raise Conflict(sentence("review_closed"), rule="history")


def _require_decision(given: Mapping[str, Any], review: Review, now: datetime) -> None:
    """Check the reason and the end of a decision, as far as all items of the review share the rules."""
    require_reason(given["reason"])
    until, at_end = given.get("until"), review.apply == "at_end"
    fault = None
    if (given["decision"] == "shorten") != (until is not None):
        fault = sentence("end_only_for_shortening")
    elif until is not None and until <= now:
        fault = sentence("not_in_future")
    elif until is not None and at_end and until <= review.deadline:
        fault = sentence("not_after_deadline")
    if fault:
        raise ValidationFailed(("until", fault))


def _change(review_id: int, what: str) -> Any:
    return values_change(revoking.target(review_id), "review", (), [what])
