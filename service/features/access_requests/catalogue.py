"""Catalogue of the roles that a caller may request, with what each opens and who approves."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from service.administration.people import People
from service.authz.engine.policy import Policy
from service.authz.engine.rules import APPROVE, GRANT
from service.features.access_requests import store_catalogue
from service.features.access_requests.requestable import requestable_codes
from service.features.access_requests.store_catalogue import GivenButton
from service.kernel.codes import HeldCodes
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.identity import Caller
from service.kernel.request_objects import stage_for
from service.laboratory.proof.batch_decider import BatchDecider
from service.records import accounts, code_holders, request_rules
from service.records.database.transactions import Connection, Database
from service.records.request_rules import RequestRule
from service.records.roles import Role

FEW: Final = 3
"""Maximum number of approvers that a stage names."""
_ASKED: Final = 20  # maximum number of examined holders; more of them are not named


@dataclass(frozen=True, slots=True)
class Offered:
    """A role that the caller may request; ``approvers`` has the names of each stage, None for many."""

    role: Role
    rule: RequestRule
    buttons: Sequence[GivenButton]
    approvers: list[list[str] | None] = field(default_factory=list)

    @property
    def max_duration(self) -> int:
        """Return the maximum duration of a grant in seconds, by the rule and by the role."""
        return min(self.rule.max_duration, self.role.max_duration or self.rule.max_duration)

    @property
    def reason_required(self) -> bool:
        """Return true if the rule or the role requires a reason."""
        return self.rule.reason_required or self.role.reason_required


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Catalogue:
    """Roles that callers may request. ``now`` is the session store's time as an instant."""

    database: Database
    people: People
    now: Callable[[], datetime]

    async def offered(
        self, policy: Policy, caller: Caller, part: Callable[[Sequence[Role]], Sequence[Role]]
    ) -> tuple[list[Offered], int]:
        """Return ``part`` of the roles that ``caller`` may request, by name, and the number of all.

        Empty for API keys: only people request roles.
        """
        if caller.kind != "person" or caller.key_id is not None:
            return [], 0
        codes = requestable_codes(policy, caller.held)
        async with self.database.snapshot() as connection:
            rules = {each.role_id: each for each in await request_rules.of_enabled_roles(connection)}
            asked = [role_id for role_id, rule in rules.items() if rule.role_code in codes]
            listed = await store_catalogue.roles(connection, asked)
            shown = part(listed)
            buttons: dict[int, list[GivenButton]] = {role.id: [] for role in shown}
            for button in await store_catalogue.buttons(connection, [*buttons]):
                buttons[button.role_id].append(button)
            offered = [Offered(role, rules[role.id], buttons[role.id]) for role in shown]
            await self._name_approvers(connection, policy, caller, offered)
        return offered, len(listed)

    async def _name_approvers(
        self, connection: Connection, policy: Policy, caller: Caller, offered: Sequence[Offered]
    ) -> None:
        """Add the approvers to the roles ``offered``; a stage with more than ``FEW`` names nobody."""
        decider, yielding = BatchDecider(policy), CooperativeYield()
        codes = {code for each in offered for code in each.rule.stage_codes}
        holders = await self._holders(connection, caller, sorted(codes))
        names = await accounts.names(
            connection, {user_id for held in holders.values() for user_id in held or ()}
        )
        for each in offered:
            reach = {button.auth_mark for button in each.buttons} if each.rule.grant_needed else set()
            for number, code in enumerate(each.rule.stage_codes, 1):
                stage, held = stage_for(each.role.role_code, number, "others"), holders[code]
                able = []
                for user_id, codes_of_user in (held or {}).items():
                    if _may_decide(decider, stage, reach, codes_of_user):
                        able.append(names[user_id])
                    await yielding.after_item()
                each.approvers.append(None if held is None or len(able) > FEW else sorted(able))

    async def _holders(
        self, connection: Connection, caller: Caller, codes: Sequence[str]
    ) -> dict[str, dict[int, HeldCodes] | None]:
        """Return other persons who may hold each code, with all their codes; None for many persons."""
        now = self.now()
        stored = await code_holders.codes_like(connection, codes)
        candidates: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
        for code in codes:
            like = [each for each in stored if each == code or "*" in each]
            candidates[code] = await code_holders.holders(connection, like, now, _ASKED + 1)
        beside = {user_id for holders in candidates.values() for user_id, _ in holders}
        persons = await self.people.of(connection, [caller.user_id], now, beside=beside)
        others = {each for each in beside if persons.same(each, caller.user_id) is None}
        return {
            code: {user_id: HeldCodes(held) for user_id, held in holders if user_id in others}
            if len(holders) <= _ASKED
            else None
            for code, holders in candidates.items()
        }


def _may_decide(decider: BatchDecider, stage: str, reach: Collection[str], held: HeldCodes) -> bool:
    """Return true if a holder of ``held`` may decide ``stage`` of a role that gives ``reach``."""
    return decider.opens(APPROVE, stage, held) and all(decider.opens(GRANT, code, held) for code in reach)
