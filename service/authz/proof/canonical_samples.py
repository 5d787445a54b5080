"""Finitely many held codes that stand for all: the possible held codes are without number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from service.authz.engine.rules import PolicyError

MOST: Final = 20_000
"""The most held codes that one question may take."""

_STAR: Final = "*"

Segments = tuple[str, ...]


def canonical_samples(codes: Iterable[str]) -> set[str]:
    """Return held codes such that each possible held code is to ``codes`` what one of them is.

    That is, every predicate of the model says the same of both and of each of ``codes``, the codes of lines;
    words among these are left out, since no held code matches a word. Held codes that hold none of ``codes``
    are to them as no code at all, and have no canonical sample.

    Why these do: ``*`` and the codes themselves stand for themselves. For ``a:b:*`` that holds one of
    ``codes``, ``a:b`` is the beginning of one. A pattern that holds some of ``codes`` and no others may keep
    its ``*`` only where those differ: with a segment that all of them share it holds the same ones. If no
    ``*`` is left before the last segment, or if that code is one of ``codes`` itself, one ``*`` of the
    pattern stays. Raises PolicyError when that gives more than ``MOST``.
    """
    split = {tuple(code.split(":")) for code in codes if not code.startswith("@")}
    held_codes = {_STAR, *map(":".join, split)} if split else set()
    for length in range(1, max(map(len, split), default=0) + 1):
        whole = {segments for segments in split if len(segments) == length}
        heads = {segments[:length] for segments in split if len(segments) > length}
        held_codes.update(map(":".join, _patterns(whole)))
        held_codes.update(":".join((*pattern, _STAR)) for pattern in _patterns(heads))
        if len(held_codes) > MOST:
            raise PolicyError(f"these permission codes have more than {MOST} wildcards that differ")
    return held_codes


def wildcards_of(code: str) -> list[str]:
    """Return every held code with a ``*`` that holds the permission code ``code``, the narrowest ones first.

    Of a code of three segments there are ten, and each further segment doubles them: PolicyError for more
    than ``MOST``.
    """
    segments = tuple(code.split(":"))
    if 1 << len(segments) > MOST:
        raise PolicyError(f"{code} has more than {MOST} wildcards")
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
    """Yield what some of ``codes``, of one length, share, and the same with one more ``*``."""
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
            raise PolicyError(f"these permission codes have more than {MOST} wildcards that differ")
    return shared
