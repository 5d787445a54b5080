"""Count the approvals of a request by current rights, and find its possible approvers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from service.administration.lasting import codes_valid_until
from service.administration.people import People
from service.administration.unit_of_work import UnitOfWork
from service.authz.engine.policy import Decision
from service.authz.engine.rules import APPROVE
from service.features.access_requests import store_appointees
from service.features.access_requests.approvers import Approvable, may_approve
from service.features.access_requests.asking import granted_expiry
from service.features.access_requests.schema import AccessDecision, AccessRequest
from service.features.access_requests.self_approval import TakingPart
from service.kernel.codes import HeldCodes
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.request_objects import stage_for, without_grant
from service.laboratory.findings import passing
from service.laboratory.proof.batch_decider import BatchDecider
from service.records import code_holders, role_rights

MOST: Final = 100
"""Maximum number of approvers notified about a request."""
_ASKED: Final = 1000  # maximum number of examined holders of a stage's code or a wildcard


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval: the stages that the approver may decide, the decision ids, and the expiry it sets."""

    stages: Collection[int]
    decision_ids: Sequence[str]
    valid_until: datetime | None


@dataclass(frozen=True, slots=True)
class Approvals:
    """The approvals of a request that count, by user id; of a pair of ``alike`` accounts only one counts."""

    by_user: Mapping[int, Approval] = field(default_factory=dict)
    alike: Collection[frozenset[int]] = ()

    def have_passed(self, request: AccessRequest) -> bool:
        """Return true if every stage has enough approvals."""
        entitled = {user_id: approval.stages for user_id, approval in self.by_user.items()}
        return passing.have_passed(entitled, request.stage_approvals, self.alike)


async def approvals_of(
    unit: UnitOfWork, people: People, request: AccessRequest, decided: Sequence[AccessDecision], now: datetime
) -> Approvals:
    """Return the approvals that count at ``now``, in all stages that the approver may decide now.

    Approvers can have gained the right to decide another stage since, where the approval is needed.
    """
    persons = await TakingPart(people, request, decided, now).persons(unit.connection)
    appointed = await store_appointees.of_request(unit.connection, request.id)
    counting: dict[int, Approval] = {}
    for decision in decided:
        if decision.decision != "approve" or decision.user_id in appointed:
            continue
        if persons.same(decision.user_id, request.user_id) is not None:
            continue
        rights = await role_rights.of_enabled_user(unit.connection, decision.user_id, now)
        if rights is None:
            continue
        held = HeldCodes(rights.permissions)
        ends = {}
        if rights.changes_at is not None:
            ends = await role_rights.ends_of(unit.connection, decision.user_id, now)
        kept = codes_valid_until(held, ends, granted_expiry(request, decision.valid_until, now))
        passed = await _passed(unit, request, held, kept)
        if passed:
            ids = [answer.id for answer in passed.values()]
            counting[decision.user_id] = Approval([*passed], ids, decision.valid_until)
    return Approvals(counting, persons.pairs(counting))


async def approvers_of(unit: UnitOfWork, people: People, request: AccessRequest, now: datetime) -> list[int]:
    """Return the ids of at most ``MOST`` accounts of other persons that may decide about a request."""
    appointed = await store_appointees.of_request(unit.connection, request.id)
    stored = await code_holders.codes_like(unit.connection, request.stage_codes)
    reach = await role_rights.reach_of_roles(unit.connection, [request.role_id])
    role = Approvable(request.role_code, request.stage_codes, reach)
    numbers = range(1, len(request.stages) + 1)
    # All candidates are checked under the lock of rights, so keep the number of enforcer calls small.
    decider = BatchDecider(unit.check.policy)
    yielding = CooperativeYield()
    chosen: list[int] = []
    asked = await code_holders.holders(unit.connection, stored, now, _ASKED)
    beside = [user_id for user_id, _ in asked]
    persons = await people.of(unit.connection, [request.user_id], now, beside=beside)
    for user_id, codes in asked:
        other = user_id not in appointed and persons.same(user_id, request.user_id) is None
        if other and may_approve(decider, role, numbers, HeldCodes(codes)):
            chosen.append(user_id)
            if len(chosen) == MOST:
                break
        await yielding.after_item()
    return chosen


async def _passed(
    unit: UnitOfWork, request: AccessRequest, held: HeldCodes, kept: HeldCodes
) -> Mapping[int, Decision]:
    """Return the stages that a holder of ``held`` may decide for others, with the decision ids.

    ``kept`` are the codes that the holder keeps until the expiry of the grant.
    """
    answers = {
        number: unit.check.decide_for(APPROVE, stage_for(request.role_code, number, "others"), held)
        for number in range(1, len(request.stages) + 1)
    }
    passed = {number: answer for number, answer in answers.items() if answer.allowed}
    free = unit.check.decide_for(APPROVE, without_grant(request.role_code), held).allowed
    if passed and (free or await unit.check.grants_roles(unit.connection, [request.role_id], kept)):
        return passed
    return {}
