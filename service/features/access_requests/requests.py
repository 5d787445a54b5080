"""Request roles, decide about requests, and grant approved roles, each in a unit of work."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

import structlog

from service.administration import change_log
from service.administration.people import People
from service.administration.reasons import require_reason
from service.administration.role_demands import require_demands
from service.administration.unit_of_work import RightsUnits, Saved, UnitOfWork
from service.authz.engine.policy import Decision, Policy
from service.authz.engine.rules import ACCOUNT, APPROVE, REQUEST
from service.errors import Conflict, PermissionDenied
from service.features.access_requests import store, store_appointees
from service.features.access_requests.appointing import circle_of
from service.features.access_requests.approvers import Approvable, approvers_named
from service.features.access_requests.asking import (
    granted_expiry,
    new_request,
    requested_expiry,
    require_shorter,
    rule_of,
)
from service.features.access_requests.counting import Approvals, approvals_of, approvers_of
from service.features.access_requests.deciders import Decider, decisions_allowed, open_decisions
from service.features.access_requests.effects import Effect, effect_of, permissions_of
from service.features.access_requests.log_entries import of_request
from service.features.access_requests.schema import AccessDecision, AccessRequest
from service.features.access_requests.self_approval import Deciding, TakingPart
from service.features.access_requests.sentences import sentence
from service.features.access_requests.store import Granted, Visible
from service.kernel.clock import from_seconds, whole_milliseconds
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import HeldCodes
from service.kernel.fields import values_of
from service.kernel.identity import Caller, codes_asked
from service.kernel.notify import Notices
from service.kernel.origin import FieldChange, values_change
from service.kernel.persons import Persons
from service.kernel.request_objects import ask, ask_at_once, stage_for, without_grant
from service.kernel.write import Write
from service.laboratory.invariants.statements import Invariants
from service.records import accounts, assignments, role_rights, roles, user_list
from service.records.assignments import Given
from service.records.database.transactions import Connection

_log = structlog.get_logger(__name__)

TOO_FEW: Final = sentence("too_few_approvals")


class Asked(AccessRequest, frozen=True, kw_only=True):
    """A new request with the effect of the grant; the effect is None if the role was granted."""

    role_name: str
    effect: Effect | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AccessRequests:
    """Requests for roles.

    ``clock`` returns the session store's time in seconds since the epoch. ``invariants`` are statements that
    no grant may break. ``people`` decides which accounts count as one person. All methods raise the
    exceptions of ``RightsUnits``, and ``NotFound`` for a request that the caller cannot see.
    """

    units: RightsUnits
    clock: Callable[[], float]
    notices: Notices
    invariants: Invariants
    people: People

    def now(self) -> datetime:
        """Return the time by which requests expire and start."""
        return from_seconds(self.clock())

    async def ask(self, write: Write, given: Mapping[str, Any]) -> Saved[Asked]:
        """Request the role ``role_id`` or ``role_code``.

        - ``ValidationFailed``: the named field is invalid.
        - ``PermissionDenied``: the caller may not request the role.
        - ``Conflict``: the caller has another pending request for the role.
        """
        async with self.units.of_rights(write, watched=False) as unit:
            unit.check.require_session("request")
            made = await self._make(unit, given)
            effect = await self.effect(unit.connection, unit.check.policy, made)
            role = await roles.read(unit.connection, made.role_id)
            asked = Asked(**values_of(made), role_name=role.role_name, effect=effect)
            await unit.made(asked)
        return Saved(asked)

    async def effect(self, connection: Connection, policy: Policy, request: AccessRequest) -> Effect | None:
        """Return the effect of granting the role of a pending request; None if the request has ended."""
        if request.state != "pending":
            return None
        return await effect_of(connection, policy, self.invariants, request, self.now())

    async def persons(
        self,
        connection: Connection,
        decided: Mapping[int, Sequence[AccessDecision]],
        requests: Iterable[AccessRequest],
    ) -> dict[int, Persons]:
        """Return the accounts that count as one person in each pending one of ``requests``, by request id.

        ``decided`` has the decisions of each request.
        """
        now = self.now()
        parties = {
            request.id: TakingPart(self.people, request, decided[request.id], now).parties
            for request in requests
            if request.state == "pending" and decided[request.id]
        }
        all_persons = await self.people.of(connection, set().union(*parties.values()), now)
        return {request_id: all_persons.taking_part(each) for request_id, each in parties.items()}

    async def decisions_allowed(
        self,
        connection: Connection,
        policy: Policy | None,
        caller: Caller,
        requests: Sequence[AccessRequest],
        decided: Mapping[int, Sequence[AccessDecision]],
    ) -> dict[int, list[Deciding]]:
        """Return which decisions the caller may make about requests, by id; none without a policy."""
        held = codes_asked(caller)
        by_proof = f"approve {caller.proof}"  # as the decision itself asks: API keys decide nothing
        if policy is None or held is None or not policy.judge(ACCOUNT, by_proof, held).allowed:
            return {request.id: [] for request in requests}
        decider = Decider(caller.user_id, held)
        return await decisions_allowed(
            connection, policy, self.people, decider, requests=requests, decided=decided, now=self.now()
        )

    async def same_person(
        self,
        connection: Connection,
        request: AccessRequest,
        decided: Sequence[AccessDecision],
        user_id: int,
    ) -> Sentence | None:
        """Return the reason why a user counts as the same person and cannot approve or close the request.

        None if the user counts as another person, and if no decision is pending.
        """
        is_open = request.emergency and request.state == "approved"
        if request.state != "pending" and not is_open:
            return None
        taking_part = TakingPart(self.people, request, decided, self.now())
        return await taking_part.not_another(connection, user_id, "close" if is_open else "approve")

    async def approvers(
        self,
        connection: Connection,
        policy: Policy | None,
        request: AccessRequest,
        decided: Sequence[AccessDecision],
    ) -> list[list[str] | None]:
        """Return the names of the remaining approvers of each stage; see ``approvers_named``.

        None for the stages of a request that takes no decision, and without a policy.
        """
        if policy is None or not open_decisions(request, decided):
            return [None] * len(request.stages)
        now = self.now()
        reach = await role_rights.reach_of_roles(connection, [request.role_id])
        role = Approvable(request.role_code, request.stage_codes, reach)
        parties = TakingPart(self.people, request, decided, now).parties
        appointed = await store_appointees.of_request(connection, request.id)
        (named,) = await approvers_named(
            connection, policy, self.people, parties=parties, roles=[role], at=now, appointed=appointed
        )
        return named

    async def _tell_approvers(self, unit: UnitOfWork, request: AccessRequest) -> None:
        """Notify the possible approvers of a new or immediately granted request."""
        if request.state not in ("pending", "approved"):
            return
        facts = {
            "role": request.role_code,
            "account": request.user_name,
            "request": str(request.id),
            "until": request.granted_until,
            "reason": request.reason,
        }
        kind: Final = "access_request_made" if request.state == "pending" else "emergency_given"
        approvers = await approvers_of(unit, self.people, request, self.now())
        await self.notices.notify_each(unit.connection, approvers, kind, "administrator", facts)

    async def _make(self, unit: UnitOfWork, given: Mapping[str, Any]) -> AccessRequest:
        rule = await rule_of(unit.connection, given)
        change_log.concerns(change_log.role_target(rule.role_code))
        name = ask_at_once(rule.role_code) if rule.emergency else ask(rule.role_code)
        decision = _passed(
            unit.check.ask(REQUEST, name), sentence("role_not_allowed_to_request", role=rule.role_code)
        )
        unit.check.require_demand(REQUEST, name)
        new = new_request(unit.caller, rule, given, decision, self.now())
        role = await roles.read(unit.connection, rule.role_id)
        until = requested_expiry(new, new.create_time)
        require_demands(role, Given(role.id, new.valid_from, until, new.reason), new.create_time)
        unit.authorized()
        permissions = await permissions_of(unit.connection, role.id)
        made = await store.create(unit.connection, new, permissions)
        unit.changes += _change(made, f"asked by {made.user_name}")
        if rule.emergency:
            await self._give(unit, made, Approvals())
            made = await store.read(unit.connection, made.id, self.now())
            if made.state == "approved":
                unit.follow_ups.append(partial(_alert, made))
        await self._tell_approvers(unit, made)
        return made

    async def cancel(self, write: Write, request_id: int) -> Saved[None]:
        """Withdraw the caller's own request; ``Conflict`` if it has ended."""
        async with self.units.of_rights(write, watched=False) as unit:
            unit.check.require_session("request")
            own = Visible(unit.caller.user_id, ())
            request = await store.read(unit.connection, request_id, self.now(), own, for_update=True)
            if request.user_id != unit.caller.user_id:
                raise PermissionDenied(
                    sentence("only_author_withdraws"), unit.check.ask(APPROVE, _self(request))
                )
            _require_pending(request)
            await store.end(unit.connection, request_id, "cancelled", self.now(), by=unit.caller.user_name)
            unit.changes += _change(request, f"withdrawn by {unit.caller.user_name}")
        return Saved(None)

    async def decide(
        self, write: Write, request_id: int, given: Mapping[str, Any], visible: Visible | None
    ) -> Saved[tuple[AccessRequest, Sequence[AccessDecision]]]:
        """Approve or deny a request; return the request with all decisions.

        Each user decides once. A repeated approval counts the first approval again, by the user's current
        rights. A dry run returns the expected result.

        ``given`` has the ``decision``, its ``reason``, and ``valid_until``, which can shorten the grant.
        Raises ``PermissionDenied`` with the denying layer, ``ValidationFailed``, and ``Conflict`` if the
        request has ended.
        """
        async with self.units.of_rights(write) as unit:
            unit.check.require_session("approve")
            connection, now = unit.connection, self.now()
            request = await store.read(connection, request_id, now, visible, for_update=True)
            change_log.concerns(change_log.role_target(request.role_code))
            known = (await store.decisions(connection, [request_id]))[request_id]
            mine = {each.decision for each in known if each.user_id == unit.caller.user_id} - {"close"}
            if mine:
                if mine == {given["decision"]} == {"approve"} and _waits_for_approvals(request):
                    await self._proceed(unit, request, known, now)
                return Saved(await self._decided(connection, request_id, now))
            _require_pending(request)
            made = await self._decision(unit, request, known, given, now)
            await store.decide(connection, request_id, made)
            ids = ", ".join(made.decision_ids)
            unit.changes += _change(request, f"{made.decision} by {made.user_name} ({ids})")
            if made.decision == "deny":
                await store.end(connection, request_id, "denied", now, by=made.user_name, reason=made.reason)
            else:
                await self._proceed(unit, request, [*known, made], now)
            return Saved(await self._decided(connection, request_id, now))

    @staticmethod
    async def _decided(
        connection: Connection, request_id: int, now: datetime
    ) -> tuple[AccessRequest, Sequence[AccessDecision]]:
        decided = await store.decisions(connection, [request_id])
        return await store.read(connection, request_id, now), decided[request_id]

    async def close(
        self, write: Write, request_id: int, reason: str, visible: Visible | None
    ) -> Saved[AccessRequest]:
        """Close an emergency after a review by another person who may decide about the request.

        Raises as ``decide``, and ``Conflict`` if the request is no emergency or is already closed.
        """
        async with self.units.of_rights(write) as unit:
            unit.check.require_session("approve")
            connection, now = unit.connection, self.now()
            request = await store.read(connection, request_id, now, visible, for_update=True)
            change_log.concerns(change_log.role_target(request.role_code))
            if not request.emergency or request.state != "approved":
                raise Conflict(sentence("no_emergency"), rule="history")
            known = (await store.decisions(connection, [request_id]))[request_id]
            made = await self._decision(unit, request, known, {"decision": "close", "reason": reason}, now)
            if closed := next((each for each in known if each.decision == "close"), None):
                raise Conflict(sentence("emergency_closed", user=closed.user_name), rule="history")
            await store.decide(connection, request_id, made)
            ids = ", ".join(made.decision_ids)
            unit.changes += _change(request, f"closed by {made.user_name} ({ids})")
        return Saved(request)

    async def begin(
        self, write: Write, request_id: int, failed: Sentence | None = None
    ) -> tuple[AccessRequest, Sequence[FieldChange]]:
        """Grant the role of a request at its start, or set the request to failed; checks all rules again.

        ``write`` is the operator's. Returns the request and the changes. ``failed`` is the reason of a
        failure. Without ``failed``, raises ``ValidationFailed`` and ``Conflict`` if the role or an invariant
        forbids the grant.
        """
        async with self.units.of_rights(write) as unit:
            now = self.now()
            request = await store.read(unit.connection, request_id, now, for_update=True)
            if request.state != "pending" or request.valid_from is None or request.valid_from > now:
                return request, ()
            known = (await store.decisions(unit.connection, [request_id]))[request_id]
            approvals = await approvals_of(unit, self.people, request, known, now)
            if failed is None and not approvals.have_passed(request):
                failed = TOO_FEW
            if failed is not None:
                await _fail(unit, request, now, failed)
            else:
                await self._give(unit, request, approvals)
            return await store.read(unit.connection, request_id, now), unit.changes

    async def _decision(
        self,
        unit: UnitOfWork,
        request: AccessRequest,
        decided: Sequence[AccessDecision],
        given: Mapping[str, Any],
        now: datetime,
    ) -> AccessDecision:
        """Return the caller's decision; raises ``PermissionDenied`` if the caller may decide no stage."""
        caller = unit.caller
        stages = await TakingPart(self.people, request, decided, now).require_stages(unit, given["decision"])
        until = given.get("valid_until")
        if not unit.check.ask(APPROVE, without_grant(request.role_code), optional=True).allowed:
            end = granted_expiry(request, until, now) if given["decision"] == "approve" else None
            await unit.check.require_roles(unit.connection, [request.role_id], until=end)
        require_reason(given["reason"])
        if until is not None:
            require_shorter(request, until, now)
        return AccessDecision(
            user_id=caller.user_id,
            user_name=caller.user_name,
            decision=given["decision"],
            reason=given["reason"],
            valid_until=until,
            stages=tuple(stages),
            decision_ids=tuple(answer.id for answer in stages.values()),
            create_time=now,
        )

    async def _proceed(
        self, unit: UnitOfWork, request: AccessRequest, decided: Sequence[AccessDecision], now: datetime
    ) -> None:
        """Give the role if all stages have passed and it begins; else let the request wait."""
        approvals = await approvals_of(unit, self.people, request, decided, now)
        for user_id, approval in approvals.by_user.items():
            await store.count_in(unit.connection, request.id, user_id, approval.stages, approval.decision_ids)
        if request.valid_from is not None and request.valid_from <= now:
            if not approvals.have_passed(request):
                await _fail(unit, request, now, TOO_FEW)
                return
        elif not approvals.have_passed(request):
            return
        elif request.valid_from is not None:
            await store.wait(unit.connection, request.id)
            return
        await self._give(unit, request, approvals)

    async def _give(self, unit: UnitOfWork, request: AccessRequest, approvals: Approvals) -> None:
        """Assign the role until the earliest expiry of request and approvals, or set the request to failed.

        All approvers count as granting the role: the author cannot use the role to approve their requests.
        """
        connection, now = unit.connection, self.now()
        given = approvals.by_user
        ends = [requested_expiry(request, now), *(each.valid_until for each in given.values())]
        until = whole_milliseconds(min(end for end in ends if end is not None))
        new = Given(request.role_id, None, until, request.reason, "request")
        target = unit.check.author(request.user_id)
        if not await _may_still_ask(unit, request, now):
            await _fail(unit, request, now, sentence("author_not_allowed"))
            return
        if until <= now:
            await _fail(unit, request, now, sentence("end_passed"))
            return
        if await assignments.identical(connection, target, new) is not None:
            await _fail(unit, request, now, sentence("role_had_until_then"))
            return
        require_demands(await roles.read(connection, request.role_id), new, now)
        user = await user_list.read(connection, request.user_id)
        async with AsyncExitStack() as watches:
            for user_id in given.keys() - {unit.caller.user_id}:  # the unit watches the caller
                circle = await circle_of(connection, [user_id], unit.check.policy, self.people, now)
                await watches.enter_async_context(circle.watching(connection))
            (assignment_id,) = await assignments.give(connection, target, [new])
        granted = Granted(assignment_id, now, until)
        by = None if unit.caller.is_operator else unit.caller.user_name
        await store.end(connection, request.id, "approved", now, by=by, granted=granted)
        await accounts.update(connection, target, {})
        unit.refreshing.add(request.user_id)
        ids = ", ".join(decision_id for each in given.values() for decision_id in each.decision_ids)
        unit.changes += _change(request, f"approved ({ids or request.asked_decision_id})")
        unit.changes += values_change(
            change_log.user_target(user.user_name), "roles", (), [request.role_code]
        )


def _waits_for_approvals(request: AccessRequest) -> bool:
    return request.state == "pending" and not request.complete


async def _alert(request: AccessRequest) -> None:
    _log.warning(
        "a role was given at once, in an emergency",
        event_type="security",
        access_request=request.id,
        user_id=request.user_id,
        role_code=request.role_code,
    )


async def _fail(unit: UnitOfWork, request: AccessRequest, now: datetime, reason: Sentence) -> None:
    """Set a request to failed with a reason, and log it."""
    await store.end(unit.connection, request.id, "failed", now, by=None, reason=str(reason))
    unit.changes += _change(request, f"failed: {reason}")


def _passed(decision: Decision, why: Sentence) -> Decision:
    if not decision.allowed:
        raise PermissionDenied(why, decision)
    return decision


def _self(request: AccessRequest) -> str:
    return stage_for(request.role_code, 1, "self")


def _require_pending(request: AccessRequest) -> None:
    if request.state != "pending":
        raise Conflict(sentence("request_closed", state=request.state), rule="history")


async def _may_still_ask(unit: UnitOfWork, request: AccessRequest, now: datetime) -> bool:
    """Return true if the author is neither disabled nor banned and may still request the role."""
    held = await role_rights.of_enabled_user(unit.connection, request.user_id, now)
    name = ask_at_once(request.role_code) if request.emergency else ask(request.role_code)
    return held is not None and unit.check.decide_for(REQUEST, name, HeldCodes(held.permissions)).allowed


def _change(request: AccessRequest, what: str) -> Any:
    return of_request(request.id, request.role_code, what)
