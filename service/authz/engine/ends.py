"""Lines with an expiry: public access to other services may carry the instant of its end.

An example is ``p, resource, orders GET /orders/{id}, @anyone until 2026-12-31T00:00:00Z``. The line is
published, sealed and kept as it is written. The enforcer never sees it: before the expiry the plain word
stands in its place, afterwards nothing. So the expiry needs no event and no job: it is known with the line.
"""

from collections.abc import Sequence
from typing import NamedTuple

from service.authz.engine.lines import Changes, Lines
from service.authz.engine.rules import NOBODY, RESOURCE, UNREGISTERED
from service.kernel.services import UNTIL, split_object, word_and_end


class Ending(NamedTuple):
    """A line that ends: the plain word of its object, and when, in seconds since the epoch."""

    object: str
    word: str
    end: float


def endings(written: Lines) -> tuple[Ending, ...]:
    """Return the lines with an expiry, from published lines."""
    objects = written.by_object[RESOURCE]
    # Few sets of codes are those of many objects.
    some = {codes for codes in set(objects.values()) if any(map(_ends, codes))}
    places = ((name, code) for name, codes in objects.items() if some and codes in some for code in codes)
    return tuple(
        Ending(name, word, end.timestamp())
        for name, (word, end) in ((name, word_and_end(code)) for name, code in places)
        if end is not None
    )


def in_force(written: Lines, ending: Sequence[Ending], passed: Sequence[float]) -> Lines:
    """Return the lines that decide once the instants ``passed`` have come, without any end.

    ``ending`` are the ``endings`` of ``written``. A registered resource stays registered: it is closed when
    nothing else opens it, else requests to it would be those of a wider one.
    """
    return written.changed(_changes(written, ending, frozenset(passed))) if ending else written


def _changes(written: Lines, ending: Sequence[Ending], passed: frozenset[float]) -> Changes:
    open_to: dict[str, set[str]] = {}
    for name, word, end in ending:
        words = open_to.setdefault(name, set())
        if end not in passed:
            words.add(word)
    return {(RESOURCE, name): _codes(written, name, words) for name, words in open_to.items()}


def _codes(written: Lines, name: str, words: set[str]) -> tuple[str, ...]:
    codes = {code for code in written.codes(RESOURCE, name) if not _ends(code)} | words
    if not codes and split_object(name)[1] != UNREGISTERED:
        return (NOBODY,)
    return tuple(sorted(codes))


def _ends(code: str) -> bool:
    return UNTIL in code
