"""Conditional and range requests for files (RFC 9110 §13 and §14)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from service.errors import RangeNotSatisfiable
from service.web.messages.context import RequestContext

# A single range; several ranges and malformed ones may be ignored (§14.2).
_RANGE: Final = re.compile(
    rb"bytes=[ \t]*(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))[ \t]*", re.IGNORECASE
)
_TAG: Final = re.compile(rb'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file: the bytes from ``start`` up to ``stop`` (exclusive)."""

    start: int
    stop: int


def is_known(context: RequestContext, tag: str) -> bool:
    """True if ``If-None-Match`` says that the client already has the file with the entity tag ``tag``.

    Weak tags match strong ones here (§13.1.2).
    """
    given = context.request.raw_header(b"if-none-match")
    if given is None:
        return False
    return given.strip() == b"*" or tag.encode() in _TAG.findall(given)


def part_of(context: RequestContext, tag: str, size: int) -> Part | None:
    """Return the part of a file of ``size`` bytes that ``Range`` asks for; None for the whole file.

    Raises RangeNotSatisfiable if the range has no byte. If ``If-Range`` does not name ``tag``, the whole file
    is sent (§13.1.5); dates never match, since files have none.
    """
    given = context.request.raw_header(b"range")
    if given is None or (match := _RANGE.fullmatch(given)) is None:
        return None
    if (
        condition := context.request.raw_header(b"if-range")
    ) is not None and condition.strip() != tag.encode():
        return None
    first, last, length = (None if text is None else int(text) for text in match.groups())
    if first is None:
        first, last = max(0, size - (length or 0)), size - 1
    elif last is None:
        last = size - 1
    elif last < first:
        return None  # not a valid range (§14.1.1)
    if first >= size:
        raise RangeNotSatisfiable(size)
    return Part(first, min(last or 0, size - 1) + 1)
