"""Decides the events of a decision log again, by another policy."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

import msgspec

from service.audit.decision_event import DecisionEvent, Outcome, decoded
from service.authz.engine.policy import Decision, Policy, decided_by
from service.authz.engine.rules import ASSURANCE, ENDPOINT, GRANT, NO_SESSION, RESOURCE, UNREGISTERED
from service.kernel.assurance import WORDS, Satisfied
from service.kernel.codes import HeldCodes
from service.kernel.origin import EditRequest, Needed


class DifferingDecisions(msgspec.Struct, frozen=True, rename="camel"):
    """Events of one set of roles about one route, which the policy would decide in another way.

    ``was`` is the logged outcome; the policy would decide the other one. ``layer``, ``object``,
    ``required`` and ``needed`` are those of the refusal, the logged one or the new one. ``users`` counts
    different users, visitors not among them. ``decision`` is the id of the first event.
    """

    was: Outcome
    request: str
    layer: str
    object: str
    required: tuple[str, ...]
    needed: Needed
    roles: tuple[str, ...]
    events: int
    users: int
    decision: str


class Replayed(msgspec.Struct, frozen=True, rename="camel"):
    """What a policy makes of a log: ``events`` were read, ``differing`` of them would come out differently.

    ``other`` lines are of other logs; ``unreadable`` ones are no events at all.
    """

    events: int
    differing: int
    other: int
    unreadable: int
    groups: tuple[DifferingDecisions, ...]


_Key = tuple[Outcome, str, str, str, tuple[str, ...], Needed, tuple[str, ...]]


@dataclass(slots=True)
class _Group:
    decision: str
    events: int = 0
    users: set[int] = field(default_factory=set)


def replay(policy: Policy, lines: Iterable[bytes]) -> Replayed:
    """Return which events of ``lines`` would come out differently by ``policy``.

    The outcome of an event is that of its whole request: all that was asked has to be allowed. Lines that
    end are in force as they were at the time of the event; by the id of its decision, if ``policy`` made it.
    """
    events = other = unreadable = 0
    groups: dict[_Key, _Group] = {}
    for line in lines:
        if not line.strip():
            continue
        try:
            event = decoded(line)
            policy = policy if event is None else _then(policy, event)
        except ValueError:
            unreadable += 1
            continue
        if event is None:
            other += 1
            continue
        events += 1
        refusal = next((decision for decision in _decisions(policy, event) if not decision.allowed), None)
        if (refusal is None) == (event.outcome == "allow"):
            continue
        group = groups.setdefault(_key(event, refusal), _Group(event.decision))
        group.events += 1
        if event.user_id is not None:
            group.users.add(event.user_id)
    differences = [
        DifferingDecisions(*key, group.events, len(group.users), group.decision)
        for key, group in sorted(groups.items())
    ]
    return Replayed(
        events, sum(difference.events for difference in differences), other, unreadable, tuple(differences)
    )


def _then(policy: Policy, event: DecisionEvent) -> Policy:
    if not policy.ends:
        return policy
    revision, passed = decided_by(event.decision)
    if revision == policy.revision:
        return policy.after(passed)
    return policy.at(datetime.fromisoformat(event.time).timestamp())


def _key(event: DecisionEvent, refusal: Decision | None) -> _Key:
    by: DecisionEvent | Decision = event if refusal is None else refusal
    request = f"{event.method} {event.route}"
    needed: Needed = event.needed if refusal is None else "any"
    return event.outcome, request, by.layer, by.object, by.required, needed, tuple(sorted(event.roles))


# Few sets of codes are held by many callers.
_held = lru_cache(4096)(HeldCodes)


@lru_cache(len(WORDS))
def _satisfied(words: frozenset[str]) -> Satisfied:
    return Satisfied(*words)


def _decisions(policy: Policy, event: DecisionEvent) -> Iterator[Decision]:
    """Yield the decisions of ``policy`` about all that the request asked; it passes if all allow."""
    held = None if event.codes is None else _held(event.codes)
    request = EditRequest(event.method, event.path or event.route, event.route)
    satisfied = None if event.satisfied is None else _satisfied(event.satisfied)
    yield from _of_request(policy, request, held, satisfied)
    both = [held] if event.stored_codes is None else [held, _held(event.stored_codes)]
    for edit in event.edits:
        for codes in both:
            yield from _of_request(policy, edit, codes, satisfied)
    for layer, name in event.objects:
        if layer == ASSURANCE:
            yield policy.judge(layer, name, satisfied)
            continue
        for codes in both:
            yield policy.judge(layer, name, codes)
    for question in event.grants:
        granted = [_grant(policy, code, both) for code in question.codes]
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
    if satisfied is not None:  # events of version 0.2.0 do not tell it
        yield policy.judge_assurance(resource, f"{method} {template}", satisfied)


def _grant(policy: Policy, code: str, both: list[HeldCodes | None]) -> Decision:
    """Return the decision about granting ``code``: the token and the database must allow it."""
    decisions = [policy.judge(GRANT, code, held) for held in both]
    return next((decision for decision in decisions if not decision.allowed), decisions[0])
