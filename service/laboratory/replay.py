"""Decides the events of a decision log again, by another policy."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from service.audit.decision_event import DecisionEvent, Outcome, decoded
from service.authz.engine.policy import Decision, Policy
from service.authz.review.asked_again import as_of, asked_again
from service.kernel.origin import Needed


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
            policy = policy if event is None else as_of(policy, event)
        except ValueError:
            unreadable += 1
            continue
        if event is None:
            other += 1
            continue
        events += 1
        refusal = next((decision for decision in asked_again(policy, event) if not decision.allowed), None)
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


def _key(event: DecisionEvent, refusal: Decision | None) -> _Key:
    by: DecisionEvent | Decision = event if refusal is None else refusal
    request = f"{event.method} {event.route}"
    needed: Needed = event.needed if refusal is None else "any"
    return event.outcome, request, by.layer, by.object, by.required, needed, tuple(sorted(event.roles))
