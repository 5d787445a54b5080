"""Decisions as spans of traces."""

from __future__ import annotations

from service.authz.engine.policy import Decision, Policy
from service.errors import Decided
from service.kernel.identity import Caller
from service.kernel.span import Span

DECISION_ID = "portcullis.decision.id"
"""The attribute with the id of a decision, as the decision log and ``policy explain`` tell it."""


def decide_traced(span: Span, policy: Policy, layer: str, object_: str, caller: Caller | None, /) -> Decision:
    """Decide as ``Policy.decide`` does, within a span below ``span``."""
    within = span.child(f"decide {layer}")
    decision = policy.decide(layer, object_, caller)
    tell(within, decision)
    within.end()
    return decision


def tell(span: Span, decision: Decided) -> None:
    """Set what a decision is about and how it went as attributes; not the codes of the caller."""
    span.set("portcullis.decision.layer", decision.layer)
    span.set("portcullis.decision.object", decision.object)
    span.set("portcullis.decision.answer", "allow" if decision.allowed else "deny")
    span.set("portcullis.policy.revision", decision.revision)
    span.set(DECISION_ID, decision.id)
