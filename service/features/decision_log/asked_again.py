"""Repeat the questions of a decision log event with another policy."""

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

from service.authz.engine.policy import Decision, Policy, decided_by
from service.authz.engine.rules import ASSURANCE, ENDPOINT, GRANT, NO_SESSION, RESOURCE, UNREGISTERED
from service.features.decision_log.decision_event import DecisionEvent, Event
from service.kernel.assurance import WORDS, Satisfied
from service.kernel.codes import HeldCodes, bounded
from service.kernel.origin import EditRequest, GrantQuestion, LastingQuestion


def as_of(policy: Policy, event: Event) -> Policy:
    """Return ``policy`` as of the time of an event, or by its decision id if ``policy`` made the decision."""
    if not policy.ends:
        return policy
    revision, passed = decided_by(event.decision)
    if revision == policy.revision:
        return policy.after(passed)
    return policy.at(datetime.fromisoformat(event.time).timestamp())


# Few sets of codes are held by many callers.
_held = lru_cache(4096)(HeldCodes)
_bounded = lru_cache(4096)(bounded)


@lru_cache(len(WORDS))
def _satisfied(words: frozenset[str]) -> Satisfied:
    return Satisfied(*words)


def asked_again(policy: Policy, event: DecisionEvent) -> Iterator[Decision]:
    """Yield the decisions of ``policy`` about all questions of the request; it passes if all allow."""
    held = None if event.codes is None else _bounded(event.codes, event.ceilings)
    request = EditRequest(event.method, event.path or event.route, event.route)
    satisfied = None if event.satisfied is None else _satisfied(event.satisfied)
    yield from _of_request(policy, request, held, satisfied)
    both: list[HeldCodes | None] = [held] if event.stored_codes is None else [held, _held(event.stored_codes)]
    if event.codes is None and event.stored_codes is not None:
        both = both[1:]  # a sign-in sends no token; a caller without grants creates the account
    for edit in event.edits:
        for codes in both:
            yield from _of_request(policy, edit, codes, satisfied)
    for layer, name in event.objects:
        if layer == ASSURANCE:
            yield policy.judge(layer, name, satisfied)
            continue
        for codes in [held] if (layer, name) in event.token_objects else both:
            yield policy.judge(layer, name, codes)
    granting: list[HeldCodes | None] = both if event.ceiling is None else [_held(event.ceiling)]
    asked: list[tuple[GrantQuestion | LastingQuestion, list[HeldCodes | None]]]
    asked = [(question, granting) for question in event.grants]
    asked += [(each, [held, _held(each.held)]) for each in event.lasting]
    for question, holding in asked:
        granted = [_grant(policy, code, holding) for code in question.codes]
        if question.needed == "all" or not any(decision.allowed for decision in granted):
            yield from granted


def _of_request(
    policy: Policy,
    request: EditRequest,
    held: HeldCodes | None,
    satisfied: Satisfied | None,
) -> Iterator[Decision]:
    method, path, template = request
    resource = NO_SESSION if held is None else policy.resource_at(method, path) or UNREGISTERED
    yield policy.judge(RESOURCE, resource, held)
    yield policy.judge(ENDPOINT, f"{method} {template}", held)
    if satisfied is not None:  # missing in events of version 0.2.0
        yield policy.judge_assurance(resource, f"{method} {template}", satisfied)


def _grant(policy: Policy, code: str, both: list[HeldCodes | None]) -> Decision:
    """Return the decision about granting ``code``: the token and the database must allow it."""
    decisions = [policy.judge(GRANT, code, held) for held in both]
    return next((decision for decision in decisions if not decision.allowed), decisions[0])
