"""Catalogue of the roles that a caller may request, with what each opens and who approves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from service.administration.people import People
from service.authz.engine.policy import Policy
from service.features.access_requests import store_catalogue
from service.features.access_requests.approvers import Approvable, approvers_named
from service.features.access_requests.requestable import requestable_codes
from service.features.access_requests.store_catalogue import GivenButton
from service.kernel.identity import Caller
from service.records import request_rules
from service.records.database.transactions import Database
from service.records.request_rules import RequestRule
from service.records.roles import Role


@dataclass(frozen=True, slots=True)
class Offered:
    """A role that the caller may request; ``approvers`` has the names of each stage, None for many."""

    role: Role
    rule: RequestRule
    buttons: Sequence[GivenButton]
    approvers: Sequence[list[str] | None]

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
            approvable = [
                Approvable(
                    role.role_code, rules[role.id].stage_codes, {each.auth_mark for each in buttons[role.id]}
                )
                for role in shown
            ]
            named = await approvers_named(
                connection,
                policy,
                self.people,
                parties=[caller.user_id],
                roles=approvable,
                at=self.now(),
            )
        offered = [
            Offered(role, rules[role.id], buttons[role.id], approvers)
            for role, approvers in zip(shown, named, strict=True)
        ]
        return offered, len(listed)
