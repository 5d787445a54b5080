"""Validation of a new request against the rule of its role."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from service.authz.engine.policy import Decision
from service.errors import ValidationFailed
from service.features.access_requests.schema import AccessRequest, NewRequest
from service.features.access_requests.sentences import sentence
from service.kernel.identity import Caller
from service.kernel.value_rules import REASON, TextRule
from service.records import request_rules
from service.records.database.transactions import Connection
from service.records.request_rules import RequestRule

NO_ROLE: Final = sentence("no_requestable_role")
_AHEAD: Final = timedelta(days=366)
_TEXTS: Final = {
    "reason": ("reason", REASON),
    "ticket": ("ticket", TextRule(128, sentence("too_long", most=128))),
    "decision_id": ("decisionId", TextRule(64, sentence("too_long", most=64))),
}
"""The texts of a request: name in the body and rule of each. All approvers can read them."""


async def rule_of(connection: Connection, given: Mapping[str, Any]) -> RequestRule:
    """Return the rule of the given enabled role; raises ``ValidationFailed`` if it has none."""
    role_id, role_code = given.get("role_id"), given.get("role_code")
    if (role_id is None) == (role_code is None):
        raise ValidationFailed(("roleId", sentence("role_id_or_role_code")))
    for rule in await request_rules.of_enabled_roles(connection):
        if role_id == rule.role_id or role_code == rule.role_code:
            return rule
    raise ValidationFailed(("roleCode" if role_id is None else "roleId", NO_ROLE))


def new_request(
    author: Caller, rule: RequestRule, given: Mapping[str, Any], decision: Decision, now: datetime
) -> NewRequest:
    """Return a new request for the role of ``rule``; raises ``ValidationFailed`` with the invalid fields.

    The deadline is the end of the rule's approval period, or the requested start if that is earlier.
    """
    begins, until, duration = (given.get(name) for name in ("valid_from", "valid_until", "duration"))
    since = max(now, begins) if begins is not None else now
    deadline = now + timedelta(seconds=rule.pending_timeout)
    faults = []
    if (until is None) == (duration is None):
        faults.append(("duration", sentence("duration_or_until")))
    elif duration is not None and duration > rule.max_duration:
        faults.append(("duration", sentence("duration_too_long", most=rule.max_duration)))
    elif until is not None and until <= since:
        faults.append(("until", sentence("not_after_start")))
    elif until is not None and until - since > timedelta(seconds=rule.max_duration):
        faults.append(("until", sentence("end_too_late", most=rule.max_duration)))
    if begins is not None and rule.emergency:
        faults.append(("from", sentence("start_in_emergency")))
    elif since - now > _AHEAD:
        faults.append(("from", sentence("start_too_late", days=_AHEAD.days)))
    if rule.reason_required and not (given.get("reason") or "").strip():
        faults.append(("reason", sentence("reason_required_by_role")))
    texts = ((name, rule, given.get(field)) for field, (name, rule) in _TEXTS.items())
    faults += [(name, fault) for name, rule, text in texts if text is not None and (fault := rule(text))]
    if faults:
        raise ValidationFailed(*faults)
    return NewRequest(
        user_id=author.user_id,
        user_name=author.user_name,
        role_id=rule.role_id,
        role_code=rule.role_code,
        emergency=rule.emergency,
        valid_from=since if since > now else None,
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
        deadline=min(deadline, since) if since > now else deadline,
    )


def requested_expiry(request: NewRequest, now: datetime) -> datetime:
    """Return the expiry of the grant; a late approval does not extend it."""
    if request.valid_until is not None:
        return request.valid_until
    return (request.valid_from or now) + timedelta(seconds=request.duration or 0)


def granted_expiry(request: NewRequest, until: datetime | None, now: datetime) -> datetime:
    """Return the expiry of the grant; the approval's ``until``, if not None, can only shorten it."""
    end = requested_expiry(request, now)
    return end if until is None else min(end, until)


def require_shorter(request: AccessRequest, until: datetime, now: datetime) -> None:
    """Raise ``ValidationFailed`` if an approval until ``until`` would extend the requested period."""
    if until <= max(now, request.valid_from or now):
        raise ValidationFailed(("until", sentence("not_after_request_start")))
    if until > requested_expiry(request, now):
        raise ValidationFailed(("until", sentence("approval_extends")))
