"""Events of the decision log: the decision of a finished request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from service.authz.engine.rules import ASSURANCE, ENDPOINT, GRANT, RESOURCE, assured
from service.errors import Decided, InsufficientAuthentication, PermissionDenied, Refusal, RowsRefused
from service.features.decision_log.decision_event import DecisionEvent, shown_path
from service.features.decision_log.decision_log import DecisionLog
from service.kernel.codes import account_codes, ceilings_of
from service.kernel.identity import codes_asked
from service.kernel.origin import Delegated, ObjectQuestion
from service.web.messages.context import RequestContext
from service.web.messages.dry_run import is_dry_run
from service.web.observability.log_format import clock

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DecisionEvents:
    """Passes the events of finished requests to ``log``, without waiting."""

    log: DecisionLog

    def note(self, context: RequestContext) -> None:
        """Pass on the event of ``context``, if the log keeps it; never raises.

        Requests without a decision of the enforcer, such as those without a valid token, have no event.
        """
        decision = context.decision
        if decision is None or not self.log.keeps(allowed=decision.allowed):
            return
        try:
            self.log.put(event_of(context, decision))
        except Exception as error:  # noqa: BLE001 - the answer is sent, and others wait for this worker
            self.log.miss()
            _log.error("a decision can't be logged", decision=decision.id, exc_info=error)


def event_of(context: RequestContext, decision: Decided) -> DecisionEvent:
    """Return the event of a request that was admitted or denied; ``decision`` is its latest decision."""
    operation = context.operation
    policy = context.policy
    caller = context.caller
    assert operation is not None  # noqa: S101 - the guard has decided
    assert policy is not None  # noqa: S101 - the guard has decided
    held = codes_asked(caller)
    resource = policy.resource_for(operation.method, context.scope["path"], caller)
    delegated = context.delegated
    before = _before(context, resource, decision, beside=not decision.allowed and delegated is not None)
    if decision.allowed and delegated is not None and delegated.revision != decision.revision:
        delegated = None  # decided by a newer policy than the event's
    details = _denial_details(context.refusal)
    stored = None if delegated is None else delegated.stored_codes
    if held is not None and stored == account_codes(held):
        stored = None
    objects = _objects(context, delegated, decision)
    return DecisionEvent(
        time=clock.text(),
        outcome="allow" if decision.allowed else "deny",
        decision=decision.id,
        revision=decision.revision,
        own_digest=decision.own_digest,
        request_id=context.request_id,
        trace_id=context.trace_id,
        method=operation.method,
        route=operation.template,
        path=None if operation.public else shown_path(context.scope["path"], operation.template, resource),
        dry_run=is_dry_run(context),
        user_id=None if caller is None else caller.user_id,
        roles=() if caller is None else caller.roles,
        codes=None if held is None else account_codes(held),
        ceilings=ceilings_of(held),
        stored_codes=stored,
        satisfied=None if context.satisfied is None else context.satisfied.codes,
        layer=decision.layer,
        object=decision.object,
        line=None if decision.line is None else str(decision.line),
        code=None if decision.line is None else decision.line[2],
        # Repeated questions are cheap: the policy caches its decisions.
        passed=tuple(
            str(policy.judge(layer, name, context.satisfied if layer == ASSURANCE else held).line)
            for layer, name in before
        ),
        required=tuple(details.get("required", ())),
        needed=details.get("needed", "any"),
        grants=() if delegated is None else tuple(delegated.grants),
        lasting=() if delegated is None else tuple(delegated.lasting),
        edits=() if delegated is None else tuple(delegated.edits),
        objects=objects,
        token_objects=()
        if delegated is None or stored is None
        else tuple(question for question in objects if question not in delegated.objects),
        ceiling=None if delegated is None else delegated.ceiling,
    )


def _before(
    context: RequestContext, resource: str, decision: Decided, *, beside: bool
) -> list[tuple[str, str]]:
    """Return the layers and objects that allowed the request before ``decision``.

    ``beside``: the decision denied a further question, after the request had been admitted.
    """
    assert context.operation is not None  # noqa: S101 - the guard has decided
    endpoint = context.operation.object
    order = [
        (RESOURCE, resource),
        (ENDPOINT, endpoint),
        (ASSURANCE, assured(RESOURCE, resource)),
        (ASSURANCE, assured(ENDPOINT, endpoint)),
    ]
    place = (decision.layer, decision.object)
    return order if beside or place not in order else order[: order.index(place)]


def _objects(
    context: RequestContext, delegated: Delegated | None, decision: Decided
) -> tuple[ObjectQuestion, ...]:
    """Return the questions to other layers, including the one that ``decision`` denied."""
    asked = dict.fromkeys(context.objects)
    if delegated is not None:
        asked |= delegated.objects
    if decision.layer not in (RESOURCE, ENDPOINT, GRANT, ASSURANCE):
        asked[ObjectQuestion(decision.layer, decision.object)] = None
    return tuple(asked)


def _denial_details(refusal: Refusal | None) -> Mapping[str, Any]:
    """Return the details of a refusal about missing codes; empty for other refusals."""
    denial = refusal.denial if isinstance(refusal, RowsRefused) else refusal
    by_policy = isinstance(denial, PermissionDenied | InsufficientAuthentication)
    return denial.extra if by_policy and denial is not None else {}
