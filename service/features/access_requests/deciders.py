"""The decisions about requests that the policy lets a caller make now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from service.administration.people import People
from service.authz.engine.policy import Policy
from service.authz.engine.rules import APPROVE, GRANT
from service.authz.proof.batch_decider import BatchDecider
from service.features.access_requests import store_appointees
from service.features.access_requests.schema import AccessDecision, AccessRequest
from service.features.access_requests.self_approval import Deciding
from service.kernel.codes import HeldCodes
from service.kernel.persons import Persons
from service.kernel.request_objects import Whose, stage_for, without_grant
from service.records import role_rights
from service.records.database.transactions import Connection


@dataclass(frozen=True, slots=True)
class Decider:
    """A user who could decide, with the codes that the user holds."""

    user_id: int
    held: HeldCodes


async def decisions_allowed(
    connection: Connection,
    policy: Policy,
    people: People,
    decider: Decider,
    *,
    requests: Sequence[AccessRequest],
    decided: Mapping[int, Sequence[AccessDecision]],
    now: datetime,
) -> dict[int, list[Deciding]]:
    """Return which decisions a user may make about ``requests``, by id; ``decided`` has those already made.

    The same policy lines decide as at a decision. Only the decision itself compares the expiry of the grant
    with the expiry of the decider's own rights.
    """
    allowed: dict[int, list[Deciding]] = {request.id: [] for request in requests}
    undecided = [
        request
        for request in requests
        if _open_decisions(request, decided[request.id])
        and all(each.user_id != decider.user_id for each in decided[request.id])
    ]
    if not undecided:
        return allowed
    enforcer = BatchDecider(policy)
    parties = {decider.user_id, *(request.user_id for request in undecided)}
    for request in undecided:
        parties.update(_approvers(decided[request.id]))
    persons = await people.of(connection, parties, now)
    ids = [request.id for request in undecided]
    appointing = await store_appointees.appointing(connection, decider.user_id, ids)
    grantable: dict[int, bool] = {}
    for request in undecided:
        role_id = request.role_id
        if not enforcer.opens(APPROVE, without_grant(request.role_code), decider.held):
            if role_id not in grantable:
                reach = await role_rights.reach_of_roles(connection, [role_id])
                grantable[role_id] = all(enforcer.opens(GRANT, code, decider.held) for code in reach)
            if not grantable[role_id]:
                continue
        made = decided[request.id]
        for deciding in _open_decisions(request, made):
            same = request.id in appointing or _is_same(persons, decider.user_id, request, made, deciding)
            whose: Whose = "self" if same else "others"
            numbers = range(1, len(request.stages) + 1)
            stages = [stage_for(request.role_code, number, whose) for number in numbers]
            if any(enforcer.opens(APPROVE, stage, decider.held) for stage in stages):
                allowed[request.id].append(deciding)
    return allowed


def _open_decisions(request: AccessRequest, decided: Sequence[AccessDecision]) -> Sequence[Deciding]:
    """Return the decisions that the state of a request takes."""
    if request.state == "pending":
        return ("approve", "deny")
    closed = any(each.decision == "close" for each in decided)
    return ("close",) if request.emergency and request.state == "approved" and not closed else ()


def _approvers(decided: Sequence[AccessDecision]) -> list[int]:
    return [each.user_id for each in decided if each.decision == "approve"]


def _is_same(
    persons: Persons,
    user_id: int,
    request: AccessRequest,
    decided: Sequence[AccessDecision],
    deciding: Deciding,
) -> bool:
    """Return true if a user counts as a person from whom the decision must be independent."""
    approvers = _approvers(decided)
    before = [] if deciding == "close" else approvers
    others = [request.user_id, *(approvers if deciding == "approve" else ())]
    taking_part = persons.taking_part({request.user_id, user_id, *before})
    return taking_part.same_as_one_of(user_id, others) is not None
