"""Notes of the permission codes that a finished request has needed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import structlog

from service.authz.engine.policy import Decision
from service.authz.engine.rules import ASSURANCE, ENDPOINT, GRANT, RESOURCE
from service.features.permission_use.uses import PermissionUses
from service.kernel.identity import Caller, codes_asked
from service.web.messages.context import RequestContext

_log: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UseNotes:
    """Passes the codes of allowing lines to ``uses``, in every layer about codes; never waits.

    It covers the two layers that admit a request, and further questions of the request. A denied request
    notes nothing.
    """

    uses: PermissionUses

    def note(self, context: RequestContext) -> None:
        """Note what a finished request has needed; never raises."""
        decision, opened = context.decision, context.opened
        caller = context.caller
        if caller is None or decision is None or opened is None or not decision.allowed:
            return
        try:
            first, last = opened.line, decision.line
            if first is not None and last is not None:
                self.uses.note(caller.user_id, (first[2], last[2]))
            if context.objects or context.delegated is not None or context.shown:
                self.uses.note(caller.user_id, _beside(context, caller))
        except Exception as error:  # noqa: BLE001 - the answer is out, and others wait for this worker
            _log.error("the use of permissions can't be noted", decision=decision.id, exc_info=error)


def _beside(context: RequestContext, caller: Caller) -> Iterator[str]:
    """Yield the codes of the lines that allowed further questions after the admission.

    Repeats the questions, which is cheap: the policy caches its decisions.
    """
    yield from context.shown
    held = codes_asked(caller)
    policy, delegated = context.policy, context.delegated
    if policy is None:
        return
    objects = {*context.objects, *(() if delegated is None else delegated.objects)}
    yield from _codes(policy.judge(layer, name, held) for layer, name in objects if layer != ASSURANCE)
    for edit in () if delegated is None else delegated.edits:
        resource = policy.resource_for(edit.method, edit.path, caller)
        endpoint = f"{edit.method} {edit.template}"
        yield from _codes((policy.judge(RESOURCE, resource, held), policy.judge(ENDPOINT, endpoint, held)))
    for question in () if delegated is None else delegated.grants:
        yield from _codes(policy.judge(GRANT, code, held) for code in question.codes)


def _codes(decisions: Iterable[Decision]) -> Iterator[str]:
    return (decision.line.code for decision in decisions if decision.line is not None)
