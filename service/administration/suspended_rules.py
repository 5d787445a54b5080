"""Suspension of request rules whose role gains codes that the author of the rule may not grant.

A rule opens the role to every user who may request it and is approved. The layer ``grant`` checked its author
for the permissions of the role at that time. A caller who adds permissions later need not know the rule.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from service.administration import change_log
from service.administration.delegation import DelegationCheck
from service.administration.unit_of_work import UnitOfWork
from service.authz.publishing.derive import covered_by
from service.errors import ValidationFailed
from service.kernel.coded_sentences import first_of
from service.kernel.core_sentences import sentence
from service.kernel.origin import OPERATOR, field_changes
from service.records import request_rules, role_rights
from service.records.database.transactions import Connection
from service.records.request_rules import RequestRule

_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Grown:
    """A rule whose role comes to give ``added``; ``beyond`` are codes that its author may not grant."""

    rule: RequestRule
    added: Sequence[str]
    beyond: Sequence[str]


async def suspend_if_unauthorized(unit: UnitOfWork, role_id: int, before: Collection[str]) -> None:
    """Suspend the rule of a role if its author may not grant the codes that the role gained.

    ``before`` are the codes that the role could give before this edit. Adds a warning to the unit in both
    cases: the role can be requested, or no longer. Raises PublishingRequiredError if the rule is suspended in
    a unit that publishes nothing.
    """
    grown = await _grown(unit.connection, unit.check, role_id, before)
    if grown is None:
        return
    rule = grown.rule
    if not grown.beyond:
        unit.warn(sentence("requests_give_more", role=rule.role_code, **first_of(grown.added, _NAMED)))
        return
    unit.require_publishing()
    await request_rules.suspend(unit.connection, role_id)
    target = change_log.role_target(rule.role_code)
    unit.changes += field_changes(target, {"requestRule.suspended": False}, {"requestRule.suspended": True})
    unit.warn(
        sentence(
            "requests_suspended", role=rule.role_code, author=_author(rule), **first_of(grown.beyond, _NAMED)
        )
    )


async def grantable_codes(connection: Connection, menu_id: int) -> dict[int, set[str]]:
    """Return the codes that each role with a rule that gives a menu could give, by the id of the role."""
    ids = await request_rules.roles_with_menu(connection, menu_id)
    return {role_id: await role_rights.reach_of_roles(connection, [role_id]) for role_id in ids}


async def require_standing(
    connection: Connection, check: DelegationCheck, role_id: int, before: Collection[str]
) -> None:
    """Check that the rule of a role stays in force although the role gives more; ValidationFailed else.

    For edits that can't publish.
    """
    grown = await _grown(connection, check, role_id, before)
    if grown is not None and grown.beyond:
        stated = sentence(
            "request_rule_suspended", author=_author(grown.rule), **first_of(grown.beyond, _NAMED)
        )
        raise ValidationFailed(("permissions", stated))


async def _grown(
    connection: Connection, check: DelegationCheck, role_id: int, before: Collection[str]
) -> Grown | None:
    """Return the rule in force of a role that gives more than ``before``; None without one."""
    rule = await request_rules.of_role(connection, role_id)
    if rule is None or rule.suspended:
        return None
    reach = await role_rights.reach_of_roles(connection, [role_id])
    added = sorted(reach.difference(before))
    if not added:
        return None
    return Grown(rule, added, await _beyond(connection, check, rule, sorted(reach)))


async def _beyond(
    connection: Connection, check: DelegationCheck, rule: RequestRule, codes: Sequence[str]
) -> Sequence[str]:
    """Return those of ``codes`` that the author of a rule may not grant by the stored rights."""
    if rule.author_id is None:
        return () if rule.updated_by == OPERATOR else codes
    held = await role_rights.of_enabled_user(connection, rule.author_id)
    if held is None:
        return codes
    # A code may be new in this change, and the policy in force has no line for it.
    covered = covered_by(check.policy.model_text)
    granted = set(await asyncio.to_thread(covered, held.permissions, codes))
    return [code for code in codes if code not in granted]


def _author(rule: RequestRule) -> str:
    return rule.updated_by or sentence("its_author")
