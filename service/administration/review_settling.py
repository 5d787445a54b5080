"""What becomes of the assignments of decided items, in a transaction that the caller begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from service.administration import change_log
from service.administration.delegation import DelegationCheck
from service.kernel.clock import rfc3339
from service.kernel.origin import FieldChange, values_change
from service.mail.notices import Notices
from service.records import accounts, assignments, reviews
from service.records.assignments import Given, Window
from service.records.database.transactions import Connection
from service.records.reviews import Item, Outcome

_ENDED: Final = "The assignment has ended before"
_ENDS_BEFORE: Final = "The assignment ends before that time already"


@dataclass(slots=True)
class Settled:
    """What was changed: of which users, for the log; and what has become of each item, by its id."""

    users: set[int] = field(default_factory=set)
    changes: list[FieldChange] = field(default_factory=list)
    items: dict[int, dict[str, Any]] = field(default_factory=dict)


def target(review_id: int) -> str:
    """Return the name of a review in the log."""
    return f"review:{review_id}"


async def settle(
    connection: Connection,
    notices: Notices,
    items: Sequence[Item],
    at: datetime,
    entry: str | None,
    *,
    by: str | None = None,
) -> Settled:
    """Revoke and shorten the assignments of ``items`` as was decided, and store what has become of each.

    ``entry`` is the id of the log's entry about it, ``by`` who ends assignments, None for who acts.
    """
    live = await assignments.stored(connection, [item.assignment_id for item in items], at)
    settled = Settled()
    revoked: list[int] = []
    shortened: dict[int, datetime] = {}
    taken: dict[int, list[str]] = {}
    changed: dict[int, list[str]] = {}
    for item in items:
        outcome, reason, end = await _outcome(connection, item, live.get(item.assignment_id), at)
        settled.items[item.id] = _became(outcome, reason, at, entry)
        if outcome not in ("revoked", "shortened"):
            continue
        settled.users.add(item.user_id)
        after = [] if end is None else [f"{item.role_code} until {rfc3339(end)}"]
        settled.changes += values_change(
            change_log.user_target(item.user_name), "roles", [item.role_code], after
        )
        if end is None:
            revoked.append(item.assignment_id)
            taken.setdefault(item.user_id, []).append(item.role_code)
        else:
            shortened[item.assignment_id] = end
            changed.setdefault(item.user_id, []).append(item.role_code)
    await assignments.revoke_all(connection, revoked, at, by)
    await assignments.shorten_reviewed(connection, shortened)
    if settled.users:
        await accounts.raise_versions(connection, settled.users)
    for fact, by_user in (("takenRoles", taken), ("changedRoles", changed)):
        alike: dict[tuple[str, ...], list[int]] = {}
        for user_id, roles in by_user.items():
            alike.setdefault(tuple(sorted({*roles})), []).append(user_id)
        for same, user_ids in alike.items():
            await notices.tell_each(connection, user_ids, "roles_changed", "administrator", {fact: [*same]})
    await reviews.change_items(connection, settled.items)
    return settled


async def _outcome(
    connection: Connection, item: Item, window: Window | None, at: datetime
) -> tuple[Outcome, str | None, datetime | None]:
    """Return what becomes of an item, why not what was decided, and the end of one that is only shortened."""
    if window is None:
        return "ended", _ENDED, None
    if item.decision == "keep":
        return "kept", None, None
    if item.decision == "revoke":
        return "revoked", None, None
    end = item.until
    assert end is not None  # noqa: S101 - a constraint of the table
    if window.valid_until is not None and window.valid_until <= end:
        return "kept", _ENDS_BEFORE, None
    over = end <= at or (window.valid_from is not None and window.valid_from >= end)
    # Of two assignments with one window, one is enough.
    same = Given(item.role_id, window.valid_from, end, source=item.source)
    of_user = DelegationCheck.reviewed(item.user_id)
    if over or await assignments.identical(connection, of_user, same, item.assignment_id):
        return "shortened", None, None
    return "shortened", None, end


def _became(outcome: Outcome, reason: str | None, at: datetime, entry: str | None) -> dict[str, Any]:
    return {
        "outcome": outcome,
        "outcome_reason": reason,
        "outcome_time": at,
        "outcome_entry": entry,
    }


async def refuse(connection: Connection, item: Item, reason: str, at: datetime, entry: str | None) -> None:
    """Store that what was decided about an item can't be done, and why; kept where nothing was to be done."""
    outcome: Outcome = "kept" if item.decision == "keep" else "refused"
    await reviews.change_items(connection, {item.id: _became(outcome, reason, at, entry)})


def with_decision(item: Item, values: Mapping[str, Any]) -> Item:
    """Return ``item`` with what was decided."""
    return replace(item, **values)
