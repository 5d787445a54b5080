"""The decisions about requests that the policy lets a caller make now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service.administration.people import People
from service.authz.engine.policy import Policy
from service.authz.engine.rules import APPROVE, GRANT
from service.features.access_requests import store_appointees
from service.features.access_requests.schema import AccessDecision, AccessRequest
from service.features.access_requests.self_approval import Deciding, TakingPart
from service.kernel.codes import HeldCodes
from service.kernel.request_objects import Whose, stage_for, without_grant
from service.laboratory.proof.batch_decider import BatchDecider
from service.records import role_rights
from service.records.database.transactions import Connection

_WHOSE: Final[tuple[Whose, ...]] = ("others", "self")


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
    enforcer = BatchDecider(policy)
    undecided = [
        TakingPart(people, request, decided[request.id], now)
        for request in requests
        if open_decisions(request, decided[request.id])
        and all(each.user_id != decider.user_id for each in decided[request.id])
        and any(_opens_a_stage(enforcer, request, whose, decider.held) for whose in _WHOSE)
    ]
    if not undecided:
        return allowed
    parties = {decider.user_id}.union(*(each.parties for each in undecided))
    persons = await people.of(connection, parties, now)
    ids = [each.request.id for each in undecided]
    appointing = await store_appointees.appointing(connection, decider.user_id, ids)
    grantable: dict[int, bool] = {}
    for taking_part in undecided:
        request = taking_part.request
        role_id = request.role_id
        if not enforcer.opens(APPROVE, without_grant(request.role_code), decider.held):
            if role_id not in grantable:
                reach = await role_rights.reach_of_roles(connection, [role_id])
                grantable[role_id] = all(enforcer.opens(GRANT, code, decider.held) for code in reach)
            if not grantable[role_id]:
                continue
        for deciding in open_decisions(request, taking_part.decided):
            same = request.id in appointing or taking_part.same_person(persons, decider.user_id, deciding)
            if _opens_a_stage(enforcer, request, "self" if same else "others", decider.held):
                allowed[request.id].append(deciding)
    return allowed


def _opens_a_stage(enforcer: BatchDecider, request: AccessRequest, whose: Whose, held: HeldCodes) -> bool:
    """Return true if the holder of ``held`` may decide a stage of a request, of ``whose`` person it is."""
    numbers = range(1, len(request.stages) + 1)
    stages = (stage_for(request.role_code, number, whose) for number in numbers)
    return any(enforcer.opens(APPROVE, stage, held) for stage in stages)


def open_decisions(request: AccessRequest, decided: Sequence[AccessDecision]) -> Sequence[Deciding]:
    """Return the decisions that the state of a request takes."""
    if request.state == "pending":
        return ("approve", "deny")
    closed = any(each.decision == "close" for each in decided)
    return ("close",) if request.emergency and request.state == "approved" and not closed else ()
