"""Edits of the rules by which roles are asked for, within a unit of work that publishes the policy."""

from collections.abc import Callable
from typing import Any, Final

from service.administration import change_log
from service.administration.events import ROLE_CHANGES, RoleChange
from service.administration.lasting import FOR_GOOD
from service.administration.older_nodes import require_known
from service.administration.unit_of_work import UnitOfWork
from service.authz.engine.rules import LOGIN, REQUEST
from service.errors import NotFound, ValidationFailed
from service.kernel.assurance import challenge_of, words_of
from service.kernel.clock import from_seconds
from service.kernel.core_sentences import sentence
from service.kernel.fields import audited_fields
from service.kernel.origin import field_changes
from service.records import menus, request_rules, roles
from service.records.database.transactions import Connection
from service.records.request_rules import RequestRule, RuleValues
from service.records.roles import Role

Match = Callable[[RequestRule | None], None]
"""Raises ``PreconditionFailed`` if the rule has changed since the caller read it; None is no rule."""
_CHANGED: Final = "The rule of the role has changed"


async def read(connection: Connection, role_id: int) -> RequestRule:
    """Return the rule of a role; ``NotFound`` without one, and for an unknown role."""
    await roles.read(connection, role_id)
    rule = await request_rules.of_role(connection, role_id)
    if rule is None:
        raise NotFound(sentence("role_not_requestable"))
    return rule


async def put(unit: UnitOfWork, role_id: int, values: RuleValues, match: Match) -> RequestRule:
    """Store the rule of a role; a different rule replaces the stored one and ends its requests.

    Raises ``PermissionDenied`` unless the caller may grant every code of the role and of the stages. Raises
    ``Conflict`` if other people would close an emergency. Raises ``NotFound``, and ``ValidationFailed`` with
    the field.
    """
    unit.require_publishing()
    role, before = await _for_change(unit, role_id, match)
    await _require_good(unit.connection, role, values)
    await unit.check.require_roles(unit.connection, [role_id], until=FOR_GOOD)
    await unit.check.require(values.stage_codes, sentence("stage_not_held"))
    if shown(before) != shown(values):
        others = before is not None and _approvers(before) != _approvers(values)
        await tell_change(unit, role_id, _CHANGED, lines=True, approvers=others)
    await require_known(unit.connection, REQUEST)
    author_id = None if unit.caller.is_operator else unit.caller.user_id
    saved = await request_rules.put(unit.connection, role_id, values, author_id)
    _changed(unit, role, before, saved)
    return saved


async def delete(unit: UnitOfWork, role_id: int, match: Match) -> None:
    """Delete the rule of a role; ``NotFound``, and ``PermissionDenied`` and ``Conflict`` as for ``put``."""
    unit.require_publishing()
    role, before = await _for_change(unit, role_id, match)
    if before is None:
        raise NotFound(sentence("role_not_requestable"))
    await unit.check.require(before.stage_codes, sentence("stage_not_held"))
    await tell_change(unit, role_id, _CHANGED, lines=True, approvers=True)
    await request_rules.delete(unit.connection, role_id)
    _changed(unit, role, before, None)


async def _for_change(unit: UnitOfWork, role_id: int, match: Match) -> tuple[Role, RequestRule | None]:
    role = await roles.read(unit.connection, role_id)
    change_log.concerns(change_log.role_target(role.role_code))
    await unit.check.require_roles(unit.connection, [role_id])
    before = await request_rules.of_role(unit.connection, role_id)
    match(before)
    return role, before


def _approvers(rule: RuleValues) -> tuple[object, ...]:
    """Return the parts of a rule that determine who decides about a request or closes an emergency."""
    return set(rule.stage_codes), rule.grant_needed


async def tell_change(unit: UnitOfWork, role_id: int, cause: str, *, lines: bool, approvers: bool) -> None:
    """Notify listeners that the rule for requesting a role changes; see ``RoleChange``.

    Raises what a listener raises.
    """
    change = RoleChange(
        role_id,
        lines=lines,
        approvers=approvers,
        cause=cause,
        at=None if unit.change is None else from_seconds(unit.change.now),
        by=unit.caller.user_name,
        log=unit.changes,
    )
    await ROLE_CHANGES.emit(unit.connection, change)


async def _require_good(connection: Connection, role: Role, values: RuleValues) -> None:
    """Check that a rule of ``role`` can have these values; ``ValidationFailed`` else."""
    change_log.check_record(values)
    stored = {button.auth_mark for button in await menus.button_codes(connection)}
    faults = [
        (f"stages[{place}].code", sentence("no_button_with_code"))
        for place, code in enumerate(values.stage_codes)
        if code not in stored
    ]
    if values.requestable_by not in stored | {LOGIN}:
        faults.append(("requestableBy", sentence("requestable_by_unknown", login=LOGIN)))
    if role.max_duration is not None and values.max_duration > role.max_duration:
        faults.append(("maxDuration", sentence("longer_than_role", most=role.max_duration)))
    if values.emergency and not _is_strong(values):
        faults.append(("assurance", sentence("emergency_too_weak")))
    if faults:
        raise ValidationFailed(*faults)


def _is_strong(values: RuleValues) -> bool:
    """Return whether the requester must have proved two factors, or a phishing-resistant factor."""
    challenge = challenge_of(words_of(values.assurance, services=False))
    return challenge is not None and "pwd" not in challenge.acr_values


def _changed(unit: UnitOfWork, role: Role, before: RequestRule | None, after: RequestRule | None) -> None:
    target = change_log.role_target(role.role_code)
    unit.changes += field_changes(target, shown(before), shown(after))
    if after is not None and before is not None and before.suspended:
        was, now = {"requestRule.suspended": True}, {"requestRule.suspended": False}
        unit.changes += field_changes(target, was, now)


def shown(rule: RuleValues | None) -> dict[str, Any]:
    """Return a rule as shown in the operation log."""
    if rule is None:
        return {}
    stages = ", ".join(f"{stage.approvals} of {stage.code}" for stage in rule.stages)
    fields = audited_fields(RuleValues, rule) | {"stages": stages}
    return {f"requestRule.{name}": value for name, value in fields.items()}
