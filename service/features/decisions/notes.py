"""Record answered questions: uses of permissions, and events of the decision log."""

from collections.abc import Callable, Collection, Sequence

from service.features.decision_log.decision_log import DecisionLog
from service.features.decision_log.event_lines import line_of, of_codes, of_request
from service.features.decisions.evaluator import Answered
from service.features.decisions.events import answer_parts, subject_part
from service.features.decisions.questions import Asked, action_and_resource
from service.features.permission_use.uses import PermissionUses
from service.kernel.codes import account_codes, ceilings_of
from service.kernel.identity import codes_asked
from service.web.messages.context import RequestContext
from service.web.observability.log_format import clock

Note = Callable[[RequestContext, Sequence[Answered]], None]
"""Receives the answers of a request, for the use of permissions and the decision log."""


def noting(uses: PermissionUses, log: DecisionLog | None) -> Note:
    """Return the receiver of answered questions; without ``log``, it records the use of permissions alone."""
    if log is None:
        return lambda _context, answered: note_uses(uses, answered)

    def note(context: RequestContext, answered: Sequence[Answered]) -> None:
        note_uses(uses, answered)
        note_events(log, context, answered)

    return note


def note_uses(uses: PermissionUses, answered: Sequence[Answered]) -> None:
    """Record the permission codes that allowed answered questions, as used by their subjects."""
    for about in answered:
        if about.caller is None:
            continue
        if len(about.known) == 1:
            codes: Collection[str] = about.known[0].answer.used
        else:
            codes = set().union(*{known.answer.used for known in about.known})
        if not codes:
            continue
        key_id = None if about.caller.key_use is None else about.caller.key_id
        by_key = () if key_id is None else {code for each in about.known for code in each.answer.used_by_key}
        uses.note(about.caller.user_id, codes, key_id, by_key)


def note_events(log: DecisionLog, context: RequestContext, answered: Sequence[Answered]) -> None:
    """Pass log lines of answered questions to the decision log, without waiting."""
    assert context.policy is not None  # noqa: S101 - checked by the guard
    asking, keeps = context.user, log.keeps
    request = of_request(clock.text(), context.request_id, context.trace_id, asking.user_id)
    lines = []
    for about in answered:
        if about.subject is None:
            continue
        caller, held = about.caller, codes_asked(about.caller)
        subject = subject_part(about.subject, caller)
        codes = of_codes(None if held is None else account_codes(held), ceilings_of(held))
        for known in about.known:
            if keeps(allowed=known.answer.allowed):
                answer = known.logged
                if answer is None:
                    action, resource = action_and_resource(known.act)
                    asked = Asked(about.subject, action, resource)
                    answer = known.logged = answer_parts(
                        context.policy, asked, known.answer, about.satisfied, asking.service
                    )
                lines.append(line_of(request, answer, subject, codes))
    if lines:
        log.put_lines(lines)
