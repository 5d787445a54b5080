"""Asking for roles, deciding about requests, and giving what was approved, each in a unit of work."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import structlog

from service.administration import change_log
from service.administration.access_requests import exclusions, passing
from service.administration.role_demands import require_demands
from service.administration.unit_of_work import RightsUnits, Saved, UnitOfWork
from service.authz.engine.policy import Decision
from service.authz.engine.rules import APPROVE, REQUEST
from service.errors import Conflict, PermissionDenied, ValidationFailed
from service.kernel.clock import from_seconds
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.origin import values_change
from service.kernel.request_objects import Whose, ask, ask_at_once, role_of, stage_for, without_grant
from service.kernel.write import Write
from service.records import (
    access_requests,
    accounts,
    assignments,
    request_exclusions,
    request_rules,
    role_rights,
    roles,
    user_list,
)
from service.records.access_requests import AccessDecision, AccessRequest, NewRequest, Visible
from service.records.assignments import Given
from service.records.database.transactions import Connection
from service.records.request_rules import RequestRule

_log = structlog.get_logger(__name__)

LONGEST: Final = "longest"
"""As a ``duration``: as long as the rule allows."""
NO_ROLE: Final = "There is no such role that can be asked for"


@dataclass(frozen=True, slots=True)
class _Approval:
    """An approval that counts: in which stages it may, and until when it lets the role be given."""

    stages: Collection[int]
    valid_until: datetime | None


class AccessRequests:
    """Requests for roles. ``now`` is the session store's time, in seconds since the epoch.

    All raise ``NotFound`` for a request that the caller may not see, and what ``RightsUnits`` raises.
    """

    def __init__(self, units: RightsUnits, now: Callable[[], float]) -> None:
        self._units = units
        self._now = now

    def now(self) -> datetime:
        """Return the instant by which requests expire and begin."""
        return from_seconds(self._now())

    async def ask(self, write: Write, given: Mapping[str, Any]) -> Saved[AccessRequest]:
        """Ask for the role ``role_id`` or ``role_code``.

        Raises ``ValidationFailed`` with the field that breaks the rule, ``PermissionDenied`` if the caller
        may not ask, and ``Conflict`` if another request for the role is pending.
        """
        async with self._units.of_rights(write) as unit:
            unit.check.require_session("request")

            def allow(name: str) -> Decision:
                why = f"You may not ask for the role {role_of(name)}"
                decision = _passed(unit.check.ask(REQUEST, name), why)
                unit.check.require_demand(REQUEST, name)
                return decision

            made = await self.make(unit, given, unit.caller, allow)
            await unit.made(made)
        return Saved(made)

    async def make(
        self, unit: UnitOfWork, given: Mapping[str, Any], author: Caller, allow: Callable[[str], Decision]
    ) -> AccessRequest:
        """Make the request of ``author`` in a unit under way, with what ``ask`` takes.

        ``allow`` returns the decision that lets them pass an object of the layer ``request``, or raises.
        """
        rule = await _rule_of(unit.connection, given)
        change_log.concerns(change_log.role_target(rule.role_code))
        decision = allow(ask_at_once(rule.role_code) if rule.emergency else ask(rule.role_code))
        new = _new(author, rule, given, decision, self.now())
        role = await roles.read(unit.connection, rule.role_id)
        until = _until(new, new.create_time)
        require_demands(role, Given(role.id, new.valid_from, until, new.reason), new.create_time)
        unit.authorized()
        made = await access_requests.create(unit.connection, new)
        await exclusions.begin(unit.connection, made.user_id, made.id)
        unit.changes += _told(made, f"asked by {made.user_name}")
        if rule.emergency:
            await self._give(unit, made, ())
            made = await access_requests.read(unit.connection, made.id, self.now())
            unit.follow_ups.append(partial(_alert, made))
        return made

    async def cancel(self, write: Write, request_id: int) -> Saved[None]:
        """Withdraw the caller's own request; ``Conflict`` if it has ended."""
        async with self._units.of_rights(write) as unit:
            unit.check.require_session("request")
            own = Visible(unit.caller.user_id, ())
            request = await access_requests.read(
                unit.connection, request_id, self.now(), own, for_update=True
            )
            if request.user_id != unit.caller.user_id:
                raise PermissionDenied(
                    "Only its author withdraws a request", unit.check.ask(APPROVE, _self(request))
                )
            _require_pending(request)
            await access_requests.end(
                unit.connection, request_id, "cancelled", self.now(), by=unit.caller.user_name
            )
            unit.changes += _told(request, f"withdrawn by {unit.caller.user_name}")
        return Saved(None)

    async def decide(
        self, write: Write, request_id: int, given: Mapping[str, Any], visible: Visible | None
    ) -> Saved[AccessRequest]:
        """Approve or deny a request; a second decision of the same person changes nothing.

        ``given`` has the ``decision``, its ``reason``, and ``valid_until``, which may shorten what was asked
        for. Raises ``PermissionDenied`` with the layer that denies, ``ValidationFailed``, and ``Conflict`` if
        the request has ended.
        """
        async with self._units.of_rights(write) as unit:
            unit.check.require_session("approve")
            connection, now = unit.connection, self.now()
            request = await access_requests.read(connection, request_id, now, visible, for_update=True)
            change_log.concerns(change_log.role_target(request.role_code))
            known = (await access_requests.decisions(connection, [request_id]))[request_id]
            if any(decided.user_id == unit.caller.user_id for decided in known):
                return Saved(request)
            _require_pending(request)
            made = await self._decision(unit, request, given, now)
            await access_requests.decide(connection, request_id, made)
            ids = ", ".join(made.decision_ids)
            unit.changes += _told(request, f"{made.decision} by {made.user_name} ({ids})")
            if made.decision == "deny":
                await access_requests.end(
                    connection, request_id, "denied", now, by=made.user_name, reason=made.reason
                )
            else:
                await self._proceed(unit, request, [*known, made], now)
            return Saved(await access_requests.read(connection, request_id, now))

    async def _decision(
        self, unit: UnitOfWork, request: AccessRequest, given: Mapping[str, Any], now: datetime
    ) -> AccessDecision:
        """Return what the caller decides, if the enforcer lets them pass a stage."""
        caller = unit.caller
        excluded = await request_exclusions.of_request(unit.connection, request.id)
        whose: Whose = "self" if caller.user_id == request.user_id or caller.user_id in excluded else "others"
        answers = {
            number: unit.check.ask(APPROVE, stage_for(request.role_code, number, whose))
            for number in range(1, len(request.stages) + 1)
        }
        passed = {number: answer for number, answer in answers.items() if answer.allowed}
        if not passed:
            raise PermissionDenied("You may not decide about this request", answers[1])
        if not unit.check.ask(APPROVE, without_grant(request.role_code)).allowed:
            await unit.check.require_roles(unit.connection, [request.role_id])
        until = given.get("valid_until")
        if until is not None:
            _require_shorter(request, until, now)
        return AccessDecision(
            user_id=caller.user_id,
            user_name=caller.user_name,
            decision=given["decision"],
            reason=given["reason"],
            valid_until=until,
            stages=tuple(passed),
            decision_ids=tuple(answer.id for answer in passed.values()),
            create_time=now,
        )

    async def _proceed(
        self, unit: UnitOfWork, request: AccessRequest, decided: Sequence[AccessDecision], now: datetime
    ) -> None:
        """Give the role if all stages have passed and it begins; else let the request wait."""
        approvals = await _approvals(unit, request, decided, now)
        entitled = {user_id: approval.stages for user_id, approval in approvals.items()}
        if not passing.have_passed(entitled, request.stage_approvals):
            return
        if request.valid_from is not None and request.valid_from > now:
            await access_requests.wait(unit.connection, request.id, complete=True)
            return
        await self._give(unit, request, [*approvals.values()])

    async def _give(self, unit: UnitOfWork, request: AccessRequest, approvals: Sequence[_Approval]) -> None:
        """Assign the role as it was asked for, and no longer than each approval lets; or end as failed."""
        connection, now = unit.connection, self.now()
        begins = request.valid_from if request.valid_from is not None and request.valid_from > now else None
        ends = [_until(request, now), *(each.valid_until for each in approvals)]
        until = min(end for end in ends if end is not None)
        new = Given(request.role_id, begins, until, request.reason, "request")
        target = unit.check.author(request.user_id)
        if not await _may_still_ask(unit, request, now):
            await _fail(unit, request, now, "Its author may no longer ask")
            return
        if until <= now:
            await _fail(unit, request, now, "Its end has passed")
            return
        if await assignments.identical(connection, target, new) is not None:
            await _fail(unit, request, now, "Its author has the role until then already")
            return
        require_demands(await roles.read(connection, request.role_id), new, now)
        user = await user_list.read(connection, request.user_id)
        (assignment_id,) = await assignments.give(connection, target, [new])
        await access_requests.end(
            connection, request.id, "approved", now, by=unit.caller.user_name, assignment_id=assignment_id
        )
        await accounts.update(connection, target, {})
        unit.refreshing.add(request.user_id)
        unit.changes += _told(request, "approved")
        unit.changes += values_change(
            change_log.user_target(user.user_name), "roles", (), [request.role_code]
        )


async def _alert(request: AccessRequest) -> None:
    _log.warning(
        "a role was given at once, in an emergency",
        event_type="security",
        access_request=request.id,
        user_id=request.user_id,
        role_code=request.role_code,
    )


async def _fail(unit: UnitOfWork, request: AccessRequest, now: datetime, reason: str) -> None:
    """End a request whose role can't be given."""
    await access_requests.end(unit.connection, request.id, "failed", now, by=None, reason=reason)
    unit.changes += _told(request, f"failed: {reason}")


def _passed(decision: Decision, why: str) -> Decision:
    if not decision.allowed:
        raise PermissionDenied(why, decision)
    return decision


def _self(request: AccessRequest) -> str:
    return stage_for(request.role_code, 1, "self")


def _require_pending(request: AccessRequest) -> None:
    if request.state != "pending":
        raise Conflict(f"The request has ended: it is {request.state}", rule="history")


async def _rule_of(connection: Connection, given: Mapping[str, Any]) -> RequestRule:
    """Return the rule of the enabled role that is named; ``ValidationFailed`` without one."""
    role_id, role_code = given.get("role_id"), given.get("role_code")
    if (role_id is None) == (role_code is None):
        raise ValidationFailed(("roleId", "Give either roleId or roleCode"))
    for rule in await request_rules.of_enabled_roles(connection):
        if role_id == rule.role_id or role_code == rule.role_code:
            return rule
    raise ValidationFailed(("roleCode" if role_id is None else "roleId", NO_ROLE))


def _new(
    author: Caller, rule: RequestRule, given: Mapping[str, Any], decision: Decision, now: datetime
) -> NewRequest:
    """Return the request for a role by its rule; ``ValidationFailed`` with the fields that break it."""
    begins, until, duration = (given.get(name) for name in ("valid_from", "valid_until", "duration"))
    if duration == LONGEST:
        duration = rule.max_duration
    since = max(now, begins) if begins is not None else now
    faults = []
    if (until is None) == (duration is None):
        faults.append(("duration", "Give either duration or until"))
    elif duration is not None and duration > rule.max_duration:
        faults.append(("duration", f"must be at most {rule.max_duration} seconds"))
    elif until is not None and until <= since:
        faults.append(("until", "must be after the beginning"))
    elif until is not None and until - since > timedelta(seconds=rule.max_duration):
        faults.append(("until", f"must be at most {rule.max_duration} seconds after the beginning"))
    if begins is not None and rule.emergency:
        faults.append(("from", "In an emergency the role is given at once"))
    if rule.reason_required and not (given.get("reason") or "").strip():
        faults.append(("reason", "The role is asked for with a reason only"))
    if faults:
        raise ValidationFailed(*faults)
    return NewRequest(
        user_id=author.user_id,
        user_name=author.user_name,
        role_id=rule.role_id,
        role_code=rule.role_code,
        emergency=rule.emergency,
        valid_from=begins if begins is not None and begins > now else None,
        valid_until=until,
        duration=duration,
        reason=given.get("reason"),
        ticket=given.get("ticket"),
        decision_id=given.get("decision_id"),
        asked_decision_id=decision.id,
        stage_codes=rule.stage_codes,
        stage_approvals=rule.stage_approvals,
        grant_needed=rule.grant_needed,
        create_time=now,
        deadline=now + timedelta(seconds=rule.pending_timeout),
    )


def _until(request: NewRequest, now: datetime) -> datetime:
    """Return when what is asked for ends, if it begins at ``now`` or later."""
    begins = max(now, request.valid_from or now)
    if request.valid_until is not None:
        return request.valid_until
    return begins + timedelta(seconds=request.duration or 0)


def _require_shorter(request: AccessRequest, until: datetime, now: datetime) -> None:
    if until <= now:
        raise ValidationFailed(("until", "must be in the future"))
    if until > _until(request, now):
        raise ValidationFailed(("until", "An approval may shorten what was asked for, and not lengthen it"))


async def _may_still_ask(unit: UnitOfWork, request: AccessRequest, now: datetime) -> bool:
    """Tell whether the author is neither disabled nor banned, and may ask for the role by what is stored."""
    held = await role_rights.of_enabled_user(unit.connection, request.user_id, now)
    name = ask_at_once(request.role_code) if request.emergency else ask(request.role_code)
    return held is not None and unit.check.ask_of(REQUEST, name, HeldCodes(held.permissions)).allowed


async def _approvals(
    unit: UnitOfWork, request: AccessRequest, decided: Sequence[AccessDecision], now: datetime
) -> dict[int, _Approval]:
    """Return the approvals that count now, by user id: each is asked anew, by what is stored."""
    excluded = await request_exclusions.of_request(unit.connection, request.id)
    counting: dict[int, _Approval] = {}
    for decision in decided:
        if decision.decision != "approve" or decision.user_id in (request.user_id, *excluded):
            continue
        rights = await role_rights.of_enabled_user(unit.connection, decision.user_id, now)
        if rights is None:
            continue
        held = HeldCodes(rights.permissions)
        free = unit.check.ask_of(APPROVE, without_grant(request.role_code), held).allowed
        if not (free or await unit.check.grants_roles(unit.connection, [request.role_id], held)):
            continue
        stages = [
            number
            for number in decision.stages
            if unit.check.ask_of(APPROVE, stage_for(request.role_code, number, "others"), held).allowed
        ]
        if stages:
            counting[decision.user_id] = _Approval(stages, decision.valid_until)
    return counting


def _told(request: AccessRequest, what: str) -> Any:
    return values_change(change_log.role_target(request.role_code), f"accessRequest {request.id}", (), [what])
