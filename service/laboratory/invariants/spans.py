"""Holdings of users over time: the intervals between the beginnings and ends of their assignments."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from service.kernel.clock import rfc3339


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open interval: ``begin`` is None from the check on, ``end`` is None without an end."""

    begin: datetime | None = None
    end: datetime | None = None

    def covers(self, other: "Span") -> bool:
        begins = self.begin is None or (other.begin is not None and self.begin <= other.begin)
        return begins and (self.end is None or (other.end is not None and other.end <= self.end))

    def __str__(self) -> str:
        begin = "" if self.begin is None else f" from {rfc3339(self.begin)}"
        return begin + ("" if self.end is None else f" until {rfc3339(self.end)}")


ALWAYS = Span()


@dataclass(frozen=True, slots=True)
class Held:
    """An assignment of a role, in force or later."""

    role_code: str
    span: Span


def pieces(held: Iterable[Held]) -> Iterator[tuple[Span, tuple[str, ...]]]:
    """Yield each interval in which the roles stay the same, in order, with these roles, sorted."""
    windows = tuple(held)
    instants = {instant for each in windows for instant in (each.span.begin, each.span.end) if instant}
    for begin, end in pairwise((None, *sorted(instants), None)):
        piece = Span(begin, end)
        yield piece, tuple(sorted({each.role_code for each in windows if each.span.covers(piece)}))


def joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the intervals that follow one another without a gap as one; ``spans`` are in order."""
    last: Span | None = None
    for span in spans:
        if last is not None and last.end is not None and last.end == span.begin:
            last = Span(last.begin, span.end)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
