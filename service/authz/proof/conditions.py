"""The exact condition on which a request passes: stated for every possible caller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from operator import or_
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.engine.request_classes import RequestClass
from service.authz.engine.rules import ENDPOINT, NO_SESSION, RESOURCE
from service.authz.proof.canonical_samples import canonical_samples
from service.authz.proof.line_answers import KINDS, LineAnswers, kinds_of, line_answers
from service.kernel.codes import HeldCodes

Held = frozenset[str]
"""Held codes of a caller who is logged in."""

Kinds = dict[str, dict[str, int]]
"""By held code and by code of a line: the ways in which the one holds the other."""

Clauses = tuple[tuple[str, ...], ...]
"""The codes of the lines of some objects; of each object one line must open."""

_CLOSED: Final[Clauses] = ((),)
_OPEN: Final[Clauses] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """What opens to callers who are logged in: of each of ``clauses`` one line must open.

    ``clauses`` are the codes of the lines of one object each. Without clauses it opens to everybody logged
    in; a clause without codes never opens.
    """

    answers: LineAnswers
    clauses: Clauses

    @property
    def codes(self) -> set[str]:
        """The codes of all lines."""
        return {code for clause in self.clauses for code in clause}

    def smallest(self, held_codes: Iterable[str]) -> list[Held]:
        """Return the smallest sets of ``held_codes`` that meet the condition, simple ones first.

        One that contains another is left out. Who holds more is never refused more, so that the sets say
        exactly which subsets of ``held_codes`` pass.
        """
        return self.smallest_of(kinds_by_held_code(held_codes, self.codes))

    def smallest_of(self, known: Kinds) -> list[Held]:
        """Return the same for the held codes of ``known``.

        Each predicate is true of a caller if it is true of one held code: so a line opens by one held code
        for each of the kinds that it needs together.
        """
        opening: list[Held] = [frozenset()]
        for clause in self.clauses:
            choices = _minimal(held for code in clause for held in self._opening(code, known))
            opening = _minimal(held | other for held, other in product(opening, choices))
        return opening

    def is_met_by(self, held: Held, known: Kinds) -> bool:
        """Tell whether a caller who is logged in and holds ``held``, some codes of ``known``, passes."""
        return all(
            any(
                self.answers.opened(code, reduce(or_, (known[held_code][code] for held_code in held), 0))
                for code in clause
            )
            for clause in self.clauses
        )

    def is_met_by_holder(self, held: HeldCodes) -> bool:
        """Tell whether a caller who is logged in and holds ``held`` passes."""
        return all(any(self.answers.opens(code, held) for code in clause) for clause in self.clauses)

    def is_within(self, other: Condition) -> bool:
        """Tell whether all who meet this condition plainly meet ``other``: by the same codes, or by more.

        False says nothing. Each clause of ``other`` must have all codes of one of these.
        """
        return self.answers is other.answers and all(
            any(set(clause) <= set(wider) for clause in self.clauses) for wider in other.clauses
        )

    def _opening(self, code: str, known: Kinds) -> Iterator[Held]:
        for way in self.answers.ways(code):
            choices = [
                [held_code for held_code, kinds in known.items() if kinds[code] & kind]
                for kind in KINDS
                if kind & way
            ]
            yield from map(frozenset, product(*choices))


def kinds_by_held_code(held_codes: Iterable[str], codes: Iterable[str]) -> Kinds:
    """Return in which ways each of ``held_codes`` by itself holds each of ``codes``, as ``kinds_of`` does."""
    asked_codes = sorted(codes)
    return {
        held: {code: kinds_of(code, holder) for code in asked_codes}
        for held, holder in ((held, HeldCodes([held])) for held in held_codes)
    }


def condition_of(policy: Policy, request_class: RequestClass | None) -> Condition:
    """Return on which condition callers who are logged in pass with such a request; None is not served."""
    return Condition(line_answers(policy.model_text), clauses_of(policy, request_class))


def clauses_of(policy: Policy, request_class: RequestClass | None) -> Clauses:
    """Return the clauses of ``condition_of``: two for a guarded route of this service, else one or none.

    A public route authenticates nobody, so there each caller counts as one without a session.
    """
    if request_class is None or request_class.is_public(policy):
        return _OPEN if request_class is not None and request_class.passes(policy, None) else _CLOSED
    rules = policy.rules
    resource = rules.codes(RESOURCE, request_class.resource(policy))
    if request_class.is_external:
        return (resource,)
    return resource, rules.codes(ENDPOINT, request_class.route)


def lets_visitors_pass(policy: Policy, clauses: Clauses) -> bool:
    """Tell whether a caller who is not logged in passes where ``clauses_of`` returns ``clauses``."""
    answers = line_answers(policy.model_text)
    match clauses:
        case (_, endpoint):  # a guarded route, where a caller without a session meets another object
            clauses = policy.rules.codes(RESOURCE, NO_SESSION), endpoint
    return all(any(answers.opens(code, None) for code in clause) for clause in clauses)


def escaping(condition: Condition, other: Condition) -> Held | None:
    """Return a smallest set of held codes that meets ``condition`` and not ``other``; None if there is none.

    Exact for every possible caller. Each held code has a canonical sample of whom the predicates say the same
    about the codes of both conditions. If a caller meets ``condition`` and not ``other``, so does a
    smallest set of canonical samples that meets ``condition``: it is part of what the caller holds, and who
    holds less is not let through by ``other``. Among sets of the same size those with fewer and shorter
    wildcards go first.
    """
    if condition.is_within(other):
        return None
    return _escaping(condition, other, _representing(condition.codes | other.codes))


def escaping_both(condition: Condition, other: Condition) -> tuple[Held | None, Held | None]:
    """Return what ``escaping`` returns for both conditions, and for both in the other order."""
    known = _representing(condition.codes | other.codes)
    return _escaping(condition, other, known), _escaping(other, condition, known)


def _escaping(condition: Condition, other: Condition, known: Kinds) -> Held | None:
    return next((held for held in condition.smallest_of(known) if not other.is_met_by(held, known)), None)


def _representing(codes: set[str]) -> Kinds:
    """Return canonical samples of all held codes that hold some of ``codes``."""
    every = kinds_by_held_code(sorted(canonical_samples(codes), key=_plain_first), codes)
    # Of held codes that hold the same in the same ways, the plainest one is enough.
    stands_for = {
        tuple(kinds.values()): held for held, kinds in reversed(every.items()) if any(kinds.values())
    }
    return {held: every[held] for held in stands_for.values()}


def _simple_first(held: Held) -> tuple[int, list[tuple[int, int, str]]]:
    return len(held), sorted(map(_plain_first, held))


def _plain_first(code: str) -> tuple[int, int, str]:
    return code.count("*"), len(code), code


def _minimal(sets: Iterable[Held]) -> list[Held]:
    kept: dict[Held, None] = {}
    for held in sorted(set(sets), key=_simple_first):
        if not any(frozenset(part) in kept for size in range(len(held)) for part in combinations(held, size)):
            kept[held] = None
    return list(kept)
