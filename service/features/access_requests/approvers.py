"""The possible approvers of the stages of a request, by name where they are few."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service.administration.people import People
from service.authz.engine.policy import Policy
from service.authz.engine.rules import APPROVE, GRANT
from service.kernel.codes import HeldCodes
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.request_objects import stage_for, without_grant
from service.laboratory.proof.batch_decider import BatchDecider
from service.records import accounts, code_holders
from service.records.database.transactions import Connection

FEW: Final = 3
"""Maximum number of approvers that a stage names."""
_ASKED: Final = 20  # maximum number of examined holders; more of them are not named


@dataclass(frozen=True, slots=True)
class Approvable:
    """The stages of a role's requests by the codes of their approvers; ``reach`` are the codes it gives."""

    role_code: str
    stage_codes: Sequence[str]
    reach: Collection[str]


async def approvers_named(
    connection: Connection,
    policy: Policy,
    people: People,
    *,
    parties: Collection[int],
    roles: Sequence[Approvable],
    at: datetime,
    appointed: Collection[int] = (),
) -> list[list[list[str] | None]]:
    """Return the sorted names of the possible approvers, for each of ``roles`` and each stage.

    None for a stage that more than ``FEW`` users may approve, or whose code many hold. The persons of
    ``parties``, who are the author and earlier approvers, and ``appointed`` users are left out.
    """
    decider, yielding = BatchDecider(policy), CooperativeYield()
    codes = sorted({code for role in roles for code in role.stage_codes})
    holders = await _holders(connection, codes, at)
    beside = {user_id for held in holders.values() for user_id in held or ()}
    persons = await people.of(connection, parties, at, beside=beside)
    others = {each for each in beside.difference(appointed) if not persons.same_as_one_of(each, parties)}
    names = await accounts.names(connection, others)
    named: list[list[list[str] | None]] = []
    for role in roles:
        stages: list[list[str] | None] = []
        for number, code in enumerate(role.stage_codes, 1):
            held, able = holders[code], []
            for user_id in others.intersection(held or ()):
                if may_approve(decider, role, [number], (held or {})[user_id]):
                    able.append(names[user_id])
                await yielding.after_item()
            stages.append(None if held is None or len(able) > FEW else sorted(able))
        named.append(stages)
    return named


async def _holders(
    connection: Connection, codes: Sequence[str], at: datetime
) -> dict[str, dict[int, HeldCodes] | None]:
    """Return the possible holders of each code, by id, with all their codes; None for many users."""
    stored = await code_holders.codes_like(connection, codes)
    holders: dict[str, dict[int, HeldCodes] | None] = {}
    for code in codes:
        like = [each for each in stored if each == code or "*" in each]
        persons = await code_holders.holders(connection, like, at, _ASKED + 1)
        few = len(persons) <= _ASKED
        holders[code] = {user_id: HeldCodes(held) for user_id, held in persons} if few else None
    return holders


def may_approve(decider: BatchDecider, role: Approvable, numbers: Iterable[int], held: HeldCodes) -> bool:
    """Return true if a holder of ``held`` may approve one of the stages ``numbers`` for others."""
    stages = (stage_for(role.role_code, number, "others") for number in numbers)
    return any(decider.opens(APPROVE, stage, held) for stage in stages) and (
        decider.opens(APPROVE, without_grant(role.role_code), held)
        or all(decider.opens(GRANT, code, held) for code in role.reach)
    )
