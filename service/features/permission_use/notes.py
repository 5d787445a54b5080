"""Notes of the permission codes that a finished request has needed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import structlog

from service.authz.engine.policy import codes_by_key
from service.authz.engine.rules import ASSURANCE, ENDPOINT, GRANT, RESOURCE
from service.errors import Decided
from service.features.permission_use.uses import MOST_NOTED, PermissionUses
from service.kernel.identity import Caller, codes_asked
from service.web.messages.context import RequestContext

_log: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UseNotes:
    """Passes the codes of allowing lines to ``uses``, in every layer about codes; never waits.

    It covers the two layers that admit a request, and further questions of the request. A denied request
    notes nothing. For a person's API key, the codes of the lines that allowed its scopes are passed too.
    """

    uses: PermissionUses

    def note(self, context: RequestContext) -> None:
        """Note what a finished request has needed; never raises."""
        decision, opened = context.decision, context.opened
        caller = context.caller
        if caller is None or decision is None or opened is None or not decision.allowed:
            return
        has_more = context.objects or context.delegated is not None or context.shown
        usual = (caller.user_id, opened, decision)
        is_noted = usual in self.uses.noted and caller.key_use is None and self.uses.is_of_today()
        if is_noted and not has_more:
            return
        try:
            first, last = opened.line, decision.line
            key_id = None if caller.key_use is None else caller.key_id
            by_key: Iterable[str] = ()
            if key_id is not None:
                # The account comes first, then the scopes of the key: they may pass by another line.
                of_first, of_last = opened.parts[1].line, decision.parts[1].line
                if of_first is not None and of_last is not None:
                    by_key = (of_first[2], of_last[2])
            if first is not None and last is not None:
                is_kept = self.uses.note(caller.user_id, (first[2], last[2]), key_id, by_key)
                if is_kept and key_id is None and len(self.uses.noted) < MOST_NOTED:
                    self.uses.noted.add(usual)
            if has_more:
                beside = [*_beside(context, caller)]
                by_key = codes_by_key(beside) if key_id is not None else ()
                self.uses.note(caller.user_id, _codes(beside), key_id, by_key)
        except Exception as error:  # noqa: BLE001 - the answer is out, and others wait for this worker
            _log.error("the use of permissions can't be noted", decision=decision.id, exc_info=error)


def _beside(context: RequestContext, caller: Caller) -> Iterator[Decided]:
    """Yield the decisions that allowed further questions after the admission.

    Repeats the questions, which is cheap: the policy caches its decisions.
    """
    yield from context.shown
    held = codes_asked(caller)
    policy, delegated = context.policy, context.delegated
    if policy is None:
        return
    objects = {*context.objects, *(() if delegated is None else delegated.objects)}
    yield from (policy.judge(layer, name, held) for layer, name in objects if layer != ASSURANCE)
    for edit in () if delegated is None else delegated.edits:
        resource = policy.resource_for(edit.method, edit.path, caller)
        endpoint = f"{edit.method} {edit.template}"
        yield from (policy.judge(RESOURCE, resource, held), policy.judge(ENDPOINT, endpoint, held))
    for question in () if delegated is None else delegated.grants:
        yield from (policy.judge(GRANT, code, held) for code in question.codes)


def _codes(decisions: Iterable[Decided]) -> Iterator[str]:
    return (decision.line[2] for decision in decisions if decision.line is not None)
