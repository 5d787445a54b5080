"""Assign a role to a user, change its start and expiry, and revoke it.

A role is assigned under the rules of an edit of the user (``user_edits``). The caller must be allowed to act
on the user and to grant every code of the role. Extensions and earlier starts demand the same.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from service.administration import change_log
from service.administration.events import BEFORE_ROLES_TAKEN
from service.administration.lasting import FOR_GOOD
from service.administration.older_nodes import require_known
from service.administration.role_demands import require_demands
from service.administration.unit_of_work import RightsUnits, Saved, UnitOfWork
from service.errors import Conflict, ValidationFailed
from service.features.assignments import store
from service.features.assignments.sentences import sentence
from service.features.assignments.store import Assignment
from service.kernel.clock import from_seconds, rfc3339, whole_milliseconds
from service.kernel.identity import Target
from service.kernel.notify import Notices, acted_by
from service.kernel.origin import values_change
from service.kernel.value_rules import REASON
from service.kernel.write import Write
from service.records import accounts, assignments, roles, user_list
from service.records.assignments import Given
from service.records.database.transactions import Connection
from service.records.published.policy_workers import WINDOWS
from service.records.role_rights import Pace
from service.records.roles import Role
from service.records.user_list import User

Match = Callable[[Assignment], None]
"""Raises ``PreconditionFailed`` if the assignment has changed since the caller read it."""

_TIMES: Final = (("valid_from", "from"), ("valid_until", "until"))


@dataclass(frozen=True, slots=True)
class _Edited:
    """An edit in progress at ``now`` of a user's roles."""

    unit: UnitOfWork
    target: Target
    user: User
    now: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AssignmentEdits:
    """Assigns roles, one assignment at a time.

    ``clock`` returns the session store's time in seconds, by which assignments start and expire. All
    methods raise:

    - ``NotFound``
    - ``PermissionDenied``: the user or the role has a code that the caller lacks.
    - ``ActOnOneself``: the roles are the caller's.
    - ``Conflict``, as ``Accounts.update`` does.
    - ``Unavailable``
    """

    units: RightsUnits
    notices: Notices
    clock: Callable[[], float]

    def now(self) -> datetime:
        """Return the time by which assignments start and expire, rounded down to whole milliseconds."""
        return whole_milliseconds(from_seconds(self.clock()))

    async def create(self, write: Write, user_id: int, given: Mapping[str, Any]) -> Saved[Assignment]:
        """Assign the role ``role_id`` or ``role_code``, from ``valid_from`` until ``valid_until``.

        Both times and the ``reason`` are optional. Raises ``ValidationFailed`` with the field. Raises
        ``Conflict`` for an identical assignment, and for an interval while a worker does not support
        intervals.
        """
        async with self._changing(write, user_id) as edited:
            role = await _role_of(edited.unit.connection, given)
            begins = _begin(given.get("valid_from"), edited.now)
            _require_text(given.get("reason"))
            new = Given(role.id, begins, _time(given.get("valid_until")), given.get("reason"))
            await _require_grant(edited, new)
            _require_order(new, given, edited.now)
            require_demands(role, new, edited.now)
            edited.unit.authorized()
            await _require_new(edited.unit.connection, edited.target, new)
            await _require_known(edited.unit.connection, new)
            (made_id,) = await assignments.give(edited.unit.connection, edited.target, [new])
            made = await self._saved(edited, made_id)
            await self._changed(edited, None, made)
            await edited.unit.made(made)
        return Saved(made)

    async def update(
        self, write: Write, user_id: int, assignment_id: int, given: Mapping[str, Any], match: Match
    ) -> Saved[Assignment]:
        """Store the given ones of ``valid_from``, ``valid_until`` and ``reason``; None clears a field.

        The start of an assignment in force cannot be moved: raises ``ValidationFailed``. Otherwise as
        ``create``.
        """
        async with self._changing(write, user_id) as edited:
            before, role = await self._stored(edited, assignment_id, match)
            new = Given(role.id, before.valid_from, before.valid_until, before.reason, before.source)
            if "valid_from" in given:
                new = replace(new, valid_from=_moved(before, given["valid_from"], edited.now))
            if "valid_until" in given:
                new = replace(new, valid_until=_time(given["valid_until"]))
            if "reason" in given:
                _require_text(given["reason"])
                new = replace(new, reason=given["reason"])
            window = (new.valid_from, new.valid_until) != (before.valid_from, before.valid_until)
            if window or "valid_until" in given:
                _require_order(new, given, edited.now)
            if window:
                await _require_grant(edited, new)
                _require_approved(before, new)
            if window or new.reason != before.reason:
                require_demands(role, new, _since(before, edited.now), window=window)
                await _require_new(edited.unit.connection, edited.target, new, but=before.id)
                await _require_known(edited.unit.connection, new)
                await assignments.change(edited.unit.connection, edited.target, before.id, new)
            after = await self._saved(edited, before.id)
            await self._changed(edited, before, after)
        return Saved(after)

    async def delete(self, write: Write, user_id: int, assignment_id: int, match: Match) -> Saved[None]:
        """Revoke an assignment now, or cancel it before its start; it is kept among the past assignments."""
        async with self._changing(write, user_id, "urgent") as edited:
            before, _role = await self._stored(edited, assignment_id, match)
            await assignments.revoke(edited.unit.connection, edited.target, before.id, edited.now)
            await self._changed(edited, before, None)
        return Saved(None)

    @asynccontextmanager
    async def _changing(self, write: Write, user_id: int, pace: Pace = "usual") -> AsyncIterator[_Edited]:
        """Run a block that changes a user's roles, if the caller may and an administrator remains."""
        async with self.units.of_rights(write, pace=pace) as unit:
            user = await user_list.read(unit.connection, user_id)
            change_log.concerns(change_log.user_target(user.user_name))
            target = await unit.check.target(unit.connection, user_id, "set-roles")
            await unit.check.require_act(unit.connection, target, "edit")
            yield _Edited(unit, target, user, self.now())

    async def _stored(self, edited: _Edited, assignment_id: int, match: Match) -> tuple[Assignment, Role]:
        """Return the assignment to change, and its role; raises ``Conflict`` if the assignment has ended."""
        connection = edited.unit.connection
        stored = await store.read(connection, edited.target.user_id, assignment_id, at=edited.now)
        await edited.unit.check.require_roles(connection, [stored.role_id])
        match(stored)
        if stored.how is not None:
            raise Conflict(sentence("assignment_ended"), rule="history")
        if stored.source == "directory":
            await BEFORE_ROLES_TAKEN.emit(connection, edited.target.user_id, [stored.role_id])
        return stored, await roles.read(connection, stored.role_id)

    async def _saved(self, edited: _Edited, assignment_id: int) -> Assignment:
        return await store.read(edited.unit.connection, edited.target.user_id, assignment_id, at=edited.now)

    async def _changed(self, edited: _Edited, before: Assignment | None, after: Assignment | None) -> None:
        """Increment the user's version, log the change, notify the user, and refresh older tokens."""
        unit = edited.unit
        had, has = _shown(before), _shown(after)
        if had == has:
            return
        unit.changes += values_change(
            change_log.user_target(edited.user.user_name), "roles", had - has, has - had
        )
        await accounts.update(unit.connection, edited.target, {})
        unit.refreshing.add(edited.target.user_id)
        shown = after or before
        assert shown is not None  # noqa: S101 - at least one differs
        kind = "changedRoles" if before and after else "givenRoles" if after else "takenRoles"
        facts: dict[str, list[str] | datetime | str | None] = {kind: [shown.role_code]}
        if after is not None:
            facts |= {"from": after.valid_from, "until": after.valid_until, "reason": after.reason}
        by = acted_by(edited.target)
        await self.notices.notify(unit.connection, edited.target.user_id, "roles_changed", by, facts)


def _time(given: datetime | None) -> datetime | None:
    return None if given is None else whole_milliseconds(given)


def _begin(given: datetime | None, now: datetime) -> datetime | None:
    """Return the start of a new assignment; None for an immediate start."""
    return None if given is None or given <= now else whole_milliseconds(given)


def _since(before: Assignment, now: datetime) -> datetime:
    """Return the time since which an assignment is in force; ``now`` if it starts later or is unknown."""
    begins = max(filter(None, (before.valid_from, before.create_time)), default=now)
    return min(begins, now)


def _moved(before: Assignment, given: datetime | None, now: datetime) -> datetime | None:
    """Return the new start of an assignment; None for an immediate start.

    An assignment in force keeps its start: a later one would falsify the history, and raises
    ValidationFailed.
    """
    later = _begin(given, now)
    if before.valid_from is not None and before.valid_from > now:
        return later or now
    if later is not None:
        raise ValidationFailed(("from", sentence("assignment_started")))
    return before.valid_from


def _require_approved(before: Assignment, new: Given) -> None:
    """Raise ValidationFailed if the assignment would last longer than approved."""
    if before.source != "request" or before.valid_until is None:
        return
    if new.valid_from != before.valid_from:
        raise ValidationFailed(("from", sentence("start_of_request")))
    if new.valid_until is None or new.valid_until > before.valid_until:
        raise ValidationFailed(("until", sentence("end_after_request")))


async def _require_grant(edited: _Edited, new: Given) -> None:
    """Raise PermissionDenied if the caller may not grant the role of ``new`` until its expiry."""
    until = FOR_GOOD if new.valid_until is None else new.valid_until
    await edited.unit.check.require_roles(edited.unit.connection, [new.role_id], until=until)


def _require_order(new: Given, given: Mapping[str, Any], now: datetime) -> None:
    """Raise ValidationFailed if the interval of ``new`` ends before its start, or before ``now``."""
    if new.valid_until is None:
        return
    if new.valid_until <= now:
        raise ValidationFailed(("until", sentence("not_in_future")))
    if new.valid_from is not None and new.valid_from >= new.valid_until:
        field = "from" if given.get("valid_from") is not None else "until"
        raise ValidationFailed((field, sentence("start_not_before_end")))


async def _role_of(connection: Connection, given: Mapping[str, Any]) -> Role:
    """Return the role given by id or by code; raises ValidationFailed unless exactly one is given."""
    role_id, role_code = given.get("role_id"), given.get("role_code")
    if (role_id is None) == (role_code is None):
        raise ValidationFailed(("roleId", sentence("role_id_or_code")))
    if role_code is not None:
        role_id = (await user_list.role_ids(connection, [role_code])).get(role_code)
    if role_id is None or await accounts.unknown_roles(connection, [role_id]):
        raise ValidationFailed(("roleId" if role_code is None else "roleCode", sentence("no_such_role")))
    return await roles.read(connection, role_id)


def _require_text(reason: str | None) -> None:
    if reason is not None and (fault := REASON(reason)):
        raise ValidationFailed(("reason", fault))


async def _require_new(connection: Connection, target: Target, new: Given, but: int = 0) -> None:
    """Raise Conflict if the user has another assignment of the role with the same interval."""
    same = await assignments.identical(connection, target, new, but)
    if same is not None:
        raise Conflict(sentence("assignment_exists"), rule="unique", assignmentId=same)


async def _require_known(connection: Connection, new: Given) -> None:
    """Require that every reporting worker supports intervals, if ``new`` has one.

    Raises Conflict otherwise: a worker without this support would grant the role permanently. Workers of
    older versions that start later are rejected by the least version of the schema.
    """
    if new.valid_from is None and new.valid_until is None:
        return
    await require_known(connection, WINDOWS)


def _shown(stored: Assignment | None) -> frozenset[str]:
    """Format an assignment for the operation log: ``auditor until 2026-12-01T00:00:00.000Z``."""
    if stored is None:
        return frozenset()
    times = ((word, getattr(stored, name)) for name, word in _TIMES)
    words = [f"{word} {rfc3339(time)}" for word, time in times if time is not None]
    reason = f": {stored.reason}" if stored.reason else ""
    return frozenset([" ".join([stored.role_code, *words]) + reason])
