"""The exact condition on which a request passes: stated for every possible caller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.engine.request_classes import RequestClass
from service.authz.engine.rules import ENDPOINT, RESOURCE
from service.authz.proof.line_answers import KINDS, LineAnswers, kinds_of, line_answers
from service.authz.proof.representatives import representatives
from service.kernel.codes import HeldCodes

Held = frozenset[str]
"""Held codes of a caller who is logged in."""

_CLOSED: Final[tuple[tuple[str, ...], ...]] = ((),)
_OPEN: Final[tuple[tuple[str, ...], ...]] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """What opens to callers who are logged in: of each of ``clauses`` one line must open.

    ``clauses`` are the codes of the lines of one object each. Without clauses it opens to everybody logged
    in; a clause without codes never opens.
    """

    answers: LineAnswers
    clauses: tuple[tuple[str, ...], ...]

    @property
    def codes(self) -> set[str]:
        """The codes of all lines."""
        return {code for clause in self.clauses for code in clause}

    def met_by(self, held: Iterable[str]) -> bool:
        """Tell whether a caller who is logged in and holds ``held`` passes."""
        holder = HeldCodes(held)
        return all(any(self.answers.opens(code, holder) for code in clause) for clause in self.clauses)

    def smallest(self, held_codes: Iterable[str]) -> list[Held]:
        """Return the smallest sets of ``held_codes`` that meet the condition, smaller ones first.

        One that contains another is left out. Who holds more is never refused more, so that the sets say
        exactly which subsets of ``held_codes`` pass. Each predicate is true of a caller if it is true of one
        held code: so a line opens by one held code for each of the kinds that it needs together.
        """
        single = {code: HeldCodes([code]) for code in held_codes}
        opening: list[Held] = [frozenset()]
        for clause in self.clauses:
            found = _minimal(one for code in clause for one in self._opening(code, single))
            opening = _minimal(one | other for one, other in product(opening, found))
        return opening

    def _opening(self, code: str, single: dict[str, HeldCodes]) -> Iterator[Held]:
        kinds = {one: kinds_of(code, held) for one, held in single.items()}
        for way in self.answers.ways(code):
            choices = [[one for one, has in kinds.items() if has & kind] for kind in KINDS if kind & way]
            yield from map(frozenset, product(*choices))


def condition_of(policy: Policy, one: RequestClass | None) -> Condition:
    """Return on which condition callers who are logged in pass with such a request; None is not served.

    A public route authenticates nobody, so there each caller counts as one without a session.
    """
    answers = line_answers(policy.model_text)
    if one is None or one.is_public(policy):
        return Condition(answers, _OPEN if one is not None and one.passes(policy, None) else _CLOSED)
    rules = policy.rules
    resource = rules.codes(RESOURCE, one.resource(policy))
    return Condition(answers, (resource, rules.codes(ENDPOINT, one.route)))


def escaping(one: Condition, other: Condition) -> Held | None:
    """Return a smallest set of held codes that meets ``one`` and not ``other``; None if there is none.

    Exact for every possible caller. Each held code has a representative of whom the predicates say the same
    about the codes of both conditions. If a caller meets ``one`` and not ``other``, so does a smallest set of
    representatives that meets ``one``: it is part of what the caller holds, and who holds less is not let
    through by ``other``. Among sets of the same size those with fewer and shorter wildcards go first.
    """
    codes = one.codes | other.codes
    stands_for: dict[tuple[int, ...], str] = {}
    for held in sorted(representatives(codes), key=_plain_first):
        holder = HeldCodes([held])
        stands_for.setdefault(tuple(kinds_of(code, holder) for code in sorted(codes)), held)
    found = [held for held in one.smallest(stands_for.values()) if not other.met_by(held)]
    return min(found, key=_simple_first, default=None)


def _simple_first(held: Held) -> tuple[int, list[tuple[int, int, str]]]:
    return len(held), sorted(map(_plain_first, held))


def _plain_first(code: str) -> tuple[int, int, str]:
    return code.count("*"), len(code), code


def _minimal(sets: Iterable[Held]) -> list[Held]:
    kept: dict[Held, None] = {}
    for one in sorted(set(sets), key=_simple_first):
        if not any(frozenset(part) in kept for size in range(len(one)) for part in combinations(one, size)):
            kept[one] = None
    return list(kept)
