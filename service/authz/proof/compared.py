"""The requests that two policies tell apart, in groups that each of the two decides alike."""

from __future__ import annotations

from dataclasses import dataclass

from service.authz.engine.external_classes import every_compared_class
from service.authz.engine.policy import Policy
from service.authz.proof.conditions import Clauses, clauses_of


@dataclass(frozen=True, slots=True)
class Alike:
    """The names of requests that have the same clauses in the first policy, and the same in the second."""

    before: Clauses
    after: Clauses
    names: tuple[str, ...]


def compared(before: Policy, after: Policy) -> list[Alike]:
    """Return all requests that one of the policies serves, in groups; each name is in one of them."""
    groups: dict[tuple[Clauses, Clauses], list[str]] = {}
    for old, new in every_compared_class(before, after):
        if request_class := new or old:
            asked = clauses_of(before, old), clauses_of(after, new)
            groups.setdefault(asked, []).append(request_class.name)
    return [Alike(*clauses, tuple(names)) for clauses, names in groups.items()]
