"""Parts of the decision log's lines about answered questions."""

from service.authz.engine.policy import Decision, Policy
from service.authz.engine.rules import ASSURANCE, RESOURCE
from service.features.decision_log.decision_event import AskedRoute, EvaluationEvent, shown_path
from service.features.decision_log.event_lines import OfAnswer, of_answer, of_subject
from service.features.decisions.questions import ROUTE, SUBJECT_TYPES, Asked, Subject, service_of
from service.kernel.assurance import Satisfied
from service.kernel.identity import Caller
from service.kernel.services import PORTCULLIS, split_object
from service.laboratory.analysis.answers import Answer


def subject_part(subject: Subject, caller: Caller | None) -> bytes:
    """Return the part of a line about its subject; it has the user only, because tokens are secret."""
    kind = subject.type if subject.type in SUBJECT_TYPES else ""
    return of_subject(kind, None, ()) if caller is None else of_subject(kind, caller.user_id, caller.roles)


def answer_parts(
    policy: Policy,
    asked: Asked,
    answer: Answer,
    satisfied: Satisfied | None = None,
    bound_to: str | None = None,
) -> OfAnswer:
    """Return the parts of a line about the answer to a question.

    ``satisfied`` are the demands that the subject satisfied; ``bound_to`` is the service of the asking
    account.
    """
    decision = answer.decision
    line = None if decision is None else decision.line
    return of_answer(
        EvaluationEvent(
            time="",
            outcome="allow" if answer.allowed else "deny",
            reason=answer.reason,
            decision="" if decision is None else decision.id,
            revision=policy.revision,
            own_digest=policy.own_digest,
            request_id="",
            asked_by=0,
            subject_type="",
            satisfied=decision.codes if decision is not None and decision.layer == ASSURANCE else None,
            layer=None if decision is None else decision.layer,
            object=None if decision is None else decision.object,
            line=None if line is None else str(line),
            code=None if line is None else line.code,
            required=() if decision is None or answer.allowed else decision.required,
            asked=None if decision is None else _asked(asked, decision, satisfied, bound_to),
        )
    )


def _asked(
    asked: Asked, decision: Decision, satisfied: Satisfied | None, bound_to: str | None
) -> AskedRoute | None:
    """Return the request in a question about a registered route of another service; otherwise None."""
    service = service_of(asked.resource, bound_to)
    registered = decision.object
    if decision.layer == ASSURANCE:
        registered = registered.removeprefix(f"{RESOURCE} ")
    if asked.resource.type != ROUTE or service == PORTCULLIS or decision.layer not in (RESOURCE, ASSURANCE):
        return None
    template = split_object(registered)[1].partition(" ")[2]
    path = asked.resource.id
    if not template or path.count("/") != template.count("/"):
        return None
    words = None if satisfied is None else satisfied.codes
    return AskedRoute(service, asked.action, shown_path(path, template, registered), words)
