"""Replays the events of a decision log with another policy."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import astuple

from service.authz.engine.policy import Decision, Policy
from service.authz.engine.rules import PERMISSION
from service.features.decision_log.asked_again import as_of, asked_again
from service.features.decision_log.decision_event import (
    DecisionEvent,
    Event,
    Outcome,
    answered_question,
    decoded,
)
from service.kernel.assurance import Satisfied
from service.kernel.codes import bounded
from service.kernel.origin import Needed
from service.laboratory.analysis.answers import Answers, Question, RequestsTo, RequestTo, UseOf


class DifferingDecisions(msgspec.Struct, frozen=True, rename="camel"):
    """Events of one set of roles about one route whose outcome differs under the policy.

    ``was`` is the logged outcome; the policy decides the opposite. ``layer``, ``object``, ``required`` and
    ``needed`` belong to the refusal, logged or new. ``users`` counts distinct users without visitors.
    ``decision`` is the id of the first event.
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
    """The result of replaying a log: ``events`` were read, ``differing`` of them get another outcome.

    ``other`` lines belong to other logs; ``unreadable`` lines are no events.
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
    """Return the events of ``lines`` whose outcome differs under ``policy``.

    The outcome of an event is that of its whole request: every question must be allowed. Expiring lines are
    in force as at the time of the event; by its decision's id, if ``policy`` made it.
    """
    events = other = unreadable = 0
    answers = Answers()
    groups: dict[_Key, _Group] = {}
    for line in lines:
        if not line.strip():
            continue
        try:
            event = answered_question(line) or decoded(line)
            policy = policy if event is None else as_of(policy, event)
        except ValueError:
            unreadable += 1
            continue
        again = None if event is None else _asked_again(policy, event, answers)
        if event is None or again is None:
            other += 1
            continue
        events += 1
        refusal = next((decision for decision in again if not decision.allowed), None)
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


def _asked_again(policy: Policy, event: Event, answers: Answers) -> Iterable[Decision] | None:
    """Return the decisions of ``policy`` about an event; None for a question that can't be repeated.

    Questions about unregistered requests, whose paths are not logged, and those of older versions can't be
    repeated.
    """
    if isinstance(event, DecisionEvent):
        return asked_again(policy, event)
    question: Question
    if event.asked is not None:
        service, method, path, _ = astuple(event.asked)
        question = (RequestsTo if "{" in path else RequestTo)(service, method, path)
    elif event.layer == PERMISSION and event.object is not None:
        question = UseOf(event.object)
    else:
        return None
    held = None if event.codes is None else bounded(event.codes, event.ceilings)
    words = None if event.asked is None else event.asked.satisfied
    decision = answers.of(policy, question, held, None if words is None else Satisfied(*words)).decision
    return None if decision is None else (decision,)


def _key(event: Event, refusal: Decision | None) -> _Key:
    by: Event | Decision = event if refusal is None else refusal
    request = f"{event.method} {event.route}" if isinstance(event, DecisionEvent) else event.object or ""
    needed: Needed = event.needed if refusal is None and isinstance(event, DecisionEvent) else "any"
    of = by.layer or "", by.object or ""
    return event.outcome, request, *of, by.required, needed, tuple(sorted(event.roles))
