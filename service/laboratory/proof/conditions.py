"""The exact condition on which a request passes: stated for every possible caller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations, compress, product
from operator import or_
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.engine.predicates import HOLDING
from service.authz.engine.rules import (
    ANYONE,
    ENDPOINT,
    LOGIN,
    NO_SESSION,
    OPENING_NOTHING,
    RESOURCE,
    PolicyError,
    Rule,
)
from service.kernel.codes import HeldCodes
from service.kernel.core_sentences import sentence
from service.laboratory.lint.model import require_grammar
from service.laboratory.proof.request_classes import RequestClass

KINDS: Final = tuple(1 << place for place in range(len(HOLDING)))
"""One bit for each predicate about held codes: the ways in which a caller can hold the code of a line."""

_BY_KIND: Final = tuple(zip(KINDS, HOLDING.values(), strict=True))
_CODE: Final = "a:b:c"
_WORDS: Final = (ANYONE, LOGIN, *sorted(OPENING_NOTHING))
# For each predicate a held code of which it is true, and no other one is.
_FIRING: Final = {
    "holdsExactly": _CODE,
    "holdsEverything": "*",
    "holdsSubtree": "a:*",
    "holdsPattern": "*:b:c",
}
_ALONE: Final = tuple(_FIRING[name] for name in HOLDING)


def kinds_of(code: str, held: HeldCodes) -> int:
    """Return the ways in which a caller who holds ``held`` holds ``code``: the sum of some of ``KINDS``."""
    kinds = 0
    for kind, holds in _BY_KIND:
        if holds(held, code):
            kinds |= kind
    return kinds


class LineAnswers:
    """Decides whether a line opens, by its code and the caller.

    In the closed grammar of the matcher, the answer of a line depends on nothing but these: its word, if its
    code is a word; the login of the caller; and the result of each predicate for the caller and the code. The
    combinations are few. The enforcer is asked once for each, with a caller of whom exactly these predicates
    are true. Its answer is that of every other line and caller of the same combination.
    """

    def __init__(self, model_text: str) -> None:
        """Ask an enforcer of ``model_text``; PolicyError for a model outside the closed grammar."""
        require_grammar(model_text)
        objects = {code: f"GET /{place}" for place, code in enumerate((*_WORDS, _CODE))}
        asked = Policy(model_text, [Rule(RESOURCE, name, code) for code, name in objects.items()])
        self._answers: dict[tuple[str, int | None], bool] = {}
        for code, name in objects.items():
            word = _word(code)
            self._answers[word, None] = asked.judge(RESOURCE, name, None).allowed
            for chosen in [()] if word else product((False, True), repeat=len(KINDS)):
                held = HeldCodes(compress(_ALONE, chosen))
                self._answers[word, kinds_of(code, held)] = asked.judge(RESOURCE, name, held).allowed
        self._ways = {word: self._smallest_ways(word) for word in {*_WORDS, _word(_CODE)}}
        self.each_kind_opens = set(self.ways(_CODE)) == {*KINDS}
        """True if holding a code in any one way opens the line of that code."""

    def opens(self, code: str, held: HeldCodes | None) -> bool:
        """Return True if a caller with ``held`` passes a line with ``code``; None means not logged in."""
        return self._answers[_word(code), None if held is None else kinds_of(code, held)]

    def opened(self, code: str, kinds: int) -> bool:
        """Return True if a caller who holds ``code`` in the ways ``kinds`` passes a line with ``code``."""
        return self._answers[_word(code), kinds]

    def ways(self, code: str) -> tuple[int, ...]:
        """Return the smallest combinations of ``KINDS`` that pass a line with ``code``."""
        return self._ways[_word(code)]

    def _smallest_ways(self, word: str) -> tuple[int, ...]:
        opening = sorted(
            kinds
            for (of, kinds), opens in self._answers.items()
            if of == word and kinds is not None and opens
        )
        return tuple(
            way for way in opening if not any(less != way and less & way == less for less in opening)
        )


@lru_cache(maxsize=8)
def line_answers(model_text: str) -> LineAnswers:
    """Return the answers of a model; remembered, since few models are asked about."""
    return LineAnswers(model_text)


def _word(code: str) -> str:
    return code if code.startswith("@") else ""


Held = frozenset[str]
"""Held codes of a logged-in caller."""

Kinds = dict[str, dict[str, int]]
"""By held code and by code of a line: the ways in which the one holds the other."""

Clauses = tuple[tuple[str, ...], ...]
"""The codes of the lines of some objects; of each object one line must open."""

_CLOSED: Final[Clauses] = ((),)
_OPEN: Final[Clauses] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition for logged-in callers: in each of ``clauses`` one line must open.

    ``clauses`` are the codes of the lines of one object each. Without clauses the condition is always met; a
    clause without codes never opens.
    """

    answers: LineAnswers
    clauses: Clauses

    @property
    def codes(self) -> set[str]:
        return {code for clause in self.clauses for code in clause}

    def smallest(self, held_codes: Iterable[str]) -> list[Held]:
        """Return the smallest sets of ``held_codes`` that meet the condition, simple ones first.

        A set that contains another one is left out. A caller with more codes is never refused more. So the
        sets determine exactly which subsets of ``held_codes`` pass.
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
        """Return True if a logged-in caller who holds ``held``, some codes of ``known``, passes."""
        return all(
            any(
                self.answers.opened(code, reduce(or_, (known[held_code][code] for held_code in held), 0))
                for code in clause
            )
            for clause in self.clauses
        )

    def is_met_by_holder(self, held: HeldCodes) -> bool:
        """Return True if a logged-in caller who holds ``held`` passes."""
        return all(any(self.answers.opens(code, held) for code in clause) for clause in self.clauses)

    def is_within(self, other: Condition) -> bool:
        """Return True if all who meet this condition plainly meet ``other``: by the same codes, or by more.

        False is inconclusive. Each clause of ``other`` must have all codes of a clause of this condition.
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
    """Return the condition on which logged-in callers pass with a request of this class; None: not served."""
    return Condition(line_answers(policy.model_text), clauses_of(policy, request_class))


def clauses_of(policy: Policy, request_class: RequestClass | None, resource: str | None = None) -> Clauses:
    """Return the clauses of ``condition_of``: two for a guarded route of this service, else one or none.

    A public route does not authenticate, so each of its callers counts as one without a session. ``resource``
    is ``request_class.resource(policy)`` if it is known.
    """
    if request_class is None or request_class.is_public(policy):
        return _OPEN if request_class is not None and request_class.passes(policy, None) else _CLOSED
    rules = policy.rules
    codes = rules.codes(RESOURCE, request_class.resource(policy) if resource is None else resource)
    if request_class.is_external:
        return (codes,)
    return codes, rules.codes(ENDPOINT, request_class.route)


def lets_visitors_pass(policy: Policy, clauses: Clauses) -> bool:
    """Return True if a caller without a login passes if ``clauses_of`` returns ``clauses``."""
    answers = line_answers(policy.model_text)
    match clauses:
        case (_, endpoint):  # a guarded route, where a caller without a session meets another object
            clauses = policy.rules.codes(RESOURCE, NO_SESSION), endpoint
    return all(any(answers.opens(code, None) for code in clause) for clause in clauses)


def _simple_first(held: Held) -> tuple[int, list[tuple[int, int, str]]]:
    return len(held), sorted(map(plain_first, held))


def plain_first(code: str) -> tuple[int, int, str]:
    """Return a key that sorts held codes by the number of wildcards, then by length."""
    return code.count("*"), len(code), code


def _minimal(sets: Iterable[Held]) -> list[Held]:
    kept: dict[Held, None] = {}
    for held in sorted(set(sets), key=_simple_first):
        if not any(frozenset(part) in kept for size in range(len(held)) for part in combinations(held, size)):
            kept[held] = None
    return list(kept)


MOST: Final = 20_000
"""The most held codes that one question may take."""

_STAR: Final = "*"

Segments = tuple[str, ...]


def canonical_samples(codes: Iterable[str]) -> set[str]:
    """Return held codes that represent every possible held code with respect to ``codes``.

    Every predicate of the model returns the same for a held code and its sample, with each of ``codes``, the
    codes of lines. Words among these are left out, since no held code matches a word. Held codes that hold
    none of ``codes`` count like no code at all, and have no canonical sample.

    Reason: ``*`` and the codes themselves represent themselves. If ``a:b:*`` holds one of ``codes``, ``a:b``
    is the beginning of one. A pattern that holds some of ``codes`` and no others may keep its ``*`` only in
    segments in which those differ. With a segment that all of them share it holds the same ones. If no ``*``
    is left before the last segment, or if the resulting code is one of ``codes`` itself, one ``*`` of the
    pattern stays. Raises PolicyError for more than ``MOST`` samples.
    """
    split = {tuple(code.split(":")) for code in codes if not code.startswith("@")}
    held_codes = {_STAR, *map(":".join, split)} if split else set()
    for length in range(1, max(map(len, split), default=0) + 1):
        whole = {segments for segments in split if len(segments) == length}
        heads = {segments[:length] for segments in split if len(segments) > length}
        held_codes.update(map(":".join, _patterns(whole)))
        held_codes.update(":".join((*pattern, _STAR)) for pattern in _patterns(heads))
        if len(held_codes) > MOST:
            raise PolicyError(sentence("too_many_wildcards", most=MOST))
    return held_codes


def wildcards_of(code: str) -> list[str]:
    """Return every held code with a ``*`` that holds the permission code ``code``, the narrowest ones first.

    A code of three segments has ten, and each further segment doubles them: PolicyError for more than
    ``MOST``.
    """
    segments = tuple(code.split(":"))
    if 1 << len(segments) > MOST:
        raise PolicyError(sentence("too_many_wildcards_of_code", code=code, most=MOST))
    starts = (segments[:length] for length in range(len(segments)))
    wildcards = {":".join((*pattern, _STAR)) for start in starts for pattern in _starred(start)}
    wildcards.update(
        ":".join((*pattern, segments[-1])) for pattern in _starred(segments[:-1]) if _STAR in pattern
    )
    return sorted(wildcards - {code}, key=_narrow_first)


def _narrow_first(held: str) -> tuple[int, int, str]:
    segments = held.split(":")
    return segments.count(_STAR) - len(segments), -len(segments), held


def _starred(segments: Segments) -> Iterator[Segments]:
    """Yield ``segments`` with none, some and all of them replaced by ``*``."""
    return product(*((segment, _STAR) for segment in segments))


def _patterns(codes: set[Segments]) -> Iterator[Segments]:
    """Yield the patterns shared by some of ``codes``, of one length, and the same with one more ``*``."""
    for pattern in _shared(codes):
        yield pattern
        for place, segment in enumerate(pattern):
            if segment != _STAR:
                yield (*pattern[:place], _STAR, *pattern[place + 1 :])


def _shared(codes: set[Segments]) -> set[Segments]:
    """Return for each choice of ``codes`` the segments that they share, with ``*`` where they differ."""
    shared = set(codes)
    waiting = list(codes)
    while waiting:
        pattern = waiting.pop()
        for other in codes:
            both = tuple(a if a == b else _STAR for a, b in zip(pattern, other, strict=True))
            if both not in shared:
                shared.add(both)
                waiting.append(both)
        if len(shared) > MOST:
            raise PolicyError(sentence("too_many_wildcards", most=MOST))
    return shared
