"""Callers who meet one condition and not another one: the smallest of all possible callers."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Final

from service.kernel.codes import HeldCodes
from service.laboratory.proof.conditions import (
    Clauses,
    Condition,
    Held,
    Kinds,
    LineAnswers,
    canonical_samples,
    kinds_by_held_code,
    plain_first,
)

_STAR: Final = "*"
_MOST_CLAUSES: Final = 2
"""The clauses of a guarded request to this service: the resource and the endpoint."""


def escaping(condition: Condition, other: Condition) -> Held | None:
    """Return a smallest set of held codes that meets ``condition`` and not ``other``; None without one.

    Exact for every possible caller. Among sets of the same size those with fewer and shorter wildcards go
    first.
    """
    if condition.is_within(other):
        return None
    if _is_plain(condition) and _is_plain(other):
        return _plainly_escaping(condition, other)
    return escaping_any(condition, other)


def escaping_both(condition: Condition, other: Condition) -> tuple[Held | None, Held | None]:
    """Return the results of ``escaping`` for both conditions, in both orders."""
    return escaping(condition, other), escaping(other, condition)


def escaping_any(condition: Condition, other: Condition) -> Held | None:
    """Return the result of ``escaping``, for conditions with any codes and any model.

    For each held code, a canonical sample gives the same results of the predicates for the codes of both
    conditions. If a caller meets ``condition`` and not ``other``, so does a smallest set of canonical samples
    that meets ``condition``. That set is part of the caller's codes, and ``other`` refuses callers with fewer
    codes too.
    """
    known = _representing(condition.codes | other.codes)
    return next((held for held in condition.smallest_of(known) if not other.is_met_by(held, known)), None)


def _representing(codes: set[str]) -> Kinds:
    """Return canonical samples of all held codes that hold some of ``codes``."""
    every = kinds_by_held_code(sorted(canonical_samples(codes), key=plain_first), codes)
    # Of held codes that hold the same in the same ways, the plainest one is enough.
    stands_for = {
        tuple(kinds.values()): held for held, kinds in reversed(every.items()) if any(kinds.values())
    }
    return {held: every[held] for held in stands_for.values()}


def _is_plain(condition: Condition) -> bool:
    """Return True if each predicate alone opens a line, no code has a wildcard, and clauses are few."""
    return (
        condition.answers.each_kind_opens
        and len(condition.clauses) <= _MOST_CLAUSES
        and not any(_STAR in code or "::" in f":{code}:" for clause in condition.clauses for code in clause)
    )


def _plainly_escaping(condition: Condition, other: Condition) -> Held | None:
    """Return the result of ``escaping_any`` for plain conditions, without all canonical samples.

    A held code that opens the line of a code opens all that this code itself opens as a held code. So if any
    caller escapes, a caller with a code of a line for each clause escapes. That caller is the plainest of its
    size, and only a single wildcard for both clauses is smaller. The narrowest wildcard that holds two codes
    opens no more than any other: if none of these escapes, no wildcard does.
    """
    needed, guarded = (_guarding(each.answers, each.clauses) for each in (condition, other))
    if not all(needed) or not guarded:
        return None
    if not needed:
        return frozenset()
    codes = sorted(set().union(*needed), key=plain_first)
    if single := _first(codes, 1, needed, guarded):
        return single
    if len(needed) == 1:
        return None
    widened = {_narrowest(*pair) for pair in product(*needed) if len({*pair}) > 1}
    if all(other.is_met_by_holder(HeldCodes([wildcard])) for wildcard in widened):
        return _first(codes, 2, needed, guarded)
    samples = canonical_samples(condition.codes | other.codes)
    for wildcard in sorted((code for code in samples if _STAR in code), key=plain_first):
        held = HeldCodes([wildcard])
        if condition.is_met_by_holder(held) and not other.is_met_by_holder(held):
            return held.codes
    raise AssertionError("an escaping wildcard must have a canonical sample")


def _guarding(answers: LineAnswers, clauses: Clauses) -> list[set[str]]:
    """Return the codes of the clauses that do not open to every logged-in caller."""
    return [
        {code for code in clause if not code.startswith("@")}
        for clause in clauses
        if not any(code.startswith("@") and answers.opened(code, 0) for code in clause)
    ]


def _first(
    codes: Sequence[str], size: int, needed: Sequence[set[str]], guarded: Sequence[set[str]]
) -> Held | None:
    """Return the first set of ``size`` codes with one of each of ``needed``, but not of ``guarded``."""
    for held in combinations(codes, size):
        if all(not clause.isdisjoint(held) for clause in needed) and any(
            clause.isdisjoint(held) for clause in guarded
        ):
            return frozenset(held)
    return None


def _narrowest(first: str, second: str) -> str:
    """Return the wildcard that holds two different codes, and no more than any other one that does."""
    short, long = sorted((first.split(":"), second.split(":")), key=len)
    ends = len(short) < len(long)
    shared = [a if a == b else _STAR for a, b in zip(short, long, strict=False)]
    return ":".join([*shared[:-1], _STAR] if ends else shared)
