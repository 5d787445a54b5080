"""Revoke, shorten or keep assignments by the decisions of a review, in a transaction of the caller."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from msgspec import structs

from service.administration import change_log
from service.administration.delegation import DelegationCheck
from service.administration.events import BEFORE_ROLES_TAKEN
from service.features.reviews import store as reviews
from service.features.reviews.schema import Item, Outcome
from service.features.reviews.sentences import sentence
from service.kernel.clock import rfc3339
from service.kernel.notify import Notices
from service.kernel.origin import FieldChange, values_change
from service.records import accounts, assignments
from service.records.assignments import Given, Window
from service.records.database.transactions import Connection

_ENDED: Final = str(sentence("outcome_ended"))
_ENDS_BEFORE: Final = str(sentence("outcome_ends_before"))
_OVER: Final = str(sentence("outcome_over"))
_SAME: Final = str(sentence("outcome_same"))


@dataclass(slots=True)
class Settled:
    """The changes made: affected users, field changes for the log, and new column values by item id."""

    users: set[int] = field(default_factory=set)
    changes: list[FieldChange] = field(default_factory=list)
    items: dict[int, dict[str, Any]] = field(default_factory=dict)


def target(review_id: int) -> str:
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
    """Revoke and shorten the assignments of ``items`` as decided, and store the outcome of each item.

    Shortened assignments come after all others of their review, the earliest new end first. So no assignment
    ends in favour of another one that ends too. ``entry`` is the id of the log entry. ``by`` ends the
    assignments; None stands for the caller. Raises what ``require_possible`` raises.
    """
    for item in items:
        await require_possible(connection, item)
    live = await assignments.stored(connection, [item.assignment_id for item in items], at)
    settled = Settled()
    revoked = [item.assignment_id for item in items if item.decision == "revoke"]
    await assignments.revoke_all(connection, [each for each in revoked if each in live], at, by)
    batch = [item.id for item in items]
    taken: dict[int, list[str]] = {}
    changed: dict[int, list[str]] = {}
    for item in items:
        window = live.get(item.assignment_id)
        (outcome, reason), end = _outcome(item, window), None
        twin = None
        if outcome == "shortened" and window is not None:
            reason, end, twin = await _shorten(connection, item, window, at, by=by, batch=batch)
        settled.items[item.id] = _result_values(outcome, reason, at, entry)
        if outcome not in ("revoked", "shortened"):
            continue
        settled.users.add(item.user_id)
        after = [] if end is None else [f"{item.role_code} until {rfc3339(end)}"]
        user = change_log.user_target(item.user_name)
        settled.changes += values_change(user, "roles", [item.role_code], after)
        _end_twin(settled, live, items, twin, values_change(user, "roles", after, []))
        if end is None:
            taken.setdefault(item.user_id, []).append(item.role_code)
        else:
            changed.setdefault(item.user_id, []).append(item.role_code)
    if settled.users:
        await accounts.raise_versions(connection, settled.users)
    for fact, by_user in (("takenRoles", taken), ("changedRoles", changed)):
        alike: dict[tuple[str, ...], list[int]] = {}
        for user_id, roles in by_user.items():
            alike.setdefault(tuple(sorted({*roles})), []).append(user_id)
        for same, user_ids in alike.items():
            await notices.notify_each(connection, user_ids, "roles_changed", "administrator", {fact: [*same]})
    await reviews.change_items(connection, settled.items)
    return settled


def _outcome(item: Item, window: Window | None) -> tuple[Outcome, str | None]:
    """Return the outcome of an item, and the reason if it differs from the decision."""
    if window is None:
        return "ended", _ENDED
    if item.decision == "keep":
        return "kept", None
    if item.decision == "revoke":
        return "revoked", None
    assert item.until is not None  # noqa: S101 - a constraint of the table
    if window.valid_until is not None and window.valid_until <= item.until:
        return "kept", _ENDS_BEFORE
    return "shortened", None


async def _shorten(
    connection: Connection,
    item: Item,
    window: Window,
    at: datetime,
    *,
    by: str | None,
    batch: Collection[int],
) -> tuple[str | None, datetime | None, int | None]:
    """Shorten an assignment as decided; return why it ended instead, the end of the role, and an ended twin.

    The end is None if the role is gone, the twin None if no other assignment ended. ``batch`` are the ids of
    the items that are settled together.
    """
    end = item.until
    assert end is not None  # noqa: S101 - a constraint of the table
    if end <= at or (window.valid_from is not None and window.valid_from >= end):
        await assignments.revoke_all(connection, [item.assignment_id], at, by)
        return _OVER, None, None
    same = Given(item.role_id, window.valid_from, end, source=item.source)
    twin = await assignments.identical(
        connection, DelegationCheck.reviewed(item.user_id), same, item.assignment_id
    )
    if twin is not None and not await reviews.is_asked(connection, twin, batch):
        await assignments.revoke_all(connection, [item.assignment_id], at, by)
        return _SAME, end, None
    if twin is not None:
        # The twin may be decided as revoked; that must not take away what this item keeps.
        await assignments.revoke_all(connection, [twin], at, by)
    await assignments.shorten_reviewed(connection, item.assignment_id, end)
    return None, end, twin


def _end_twin(
    settled: Settled,
    live: dict[int, Window],
    items: Sequence[Item],
    twin: int | None,
    change: Sequence[FieldChange],
) -> None:
    """Mark the items of ``items`` about ``twin`` as ended, including an item already settled as kept.

    ``change`` is the change that the log records. Without a twin, do nothing.
    """
    if twin is None:
        return
    settled.changes += change
    for item in [each for each in items if each.assignment_id == twin]:
        live.pop(item.assignment_id, None)
        if (became := settled.items.get(item.id)) is not None:
            became["outcome_reason"] = _SAME
            if became["outcome"] == "kept":
                became["outcome"] = "ended"


async def require_possible(connection: Connection, item: Item) -> None:
    """Raise ``Conflict`` that names the directory if the decision ends an assignment that one gives."""
    if item.source == "directory" and item.decision != "keep":
        await BEFORE_ROLES_TAKEN.emit(connection, item.user_id, [item.role_id])


def _result_values(outcome: Outcome, reason: str | None, at: datetime, entry: str | None) -> dict[str, Any]:
    return {
        "outcome": outcome,
        "outcome_reason": reason,
        "outcome_time": at,
        "outcome_entry": entry,
    }


async def refuse(connection: Connection, item: Item, reason: str, at: datetime, entry: str | None) -> None:
    """Store the outcome ``refused`` with its reason; ``kept`` if the decision was to keep."""
    outcome: Outcome = "kept" if item.decision == "keep" else "refused"
    await reviews.change_items(connection, {item.id: _result_values(outcome, reason, at, entry)})


def with_decision(item: Item, values: Mapping[str, Any]) -> Item:
    return structs.replace(item, **values)
