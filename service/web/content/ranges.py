"""Which part of a file a GET asks for: conditions and ranges (RFC 9110 §13 and §14)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from service.errors import RangeNotSatisfiable
from service.web.requests.context import RequestContext

# One range; several are allowed to be ignored (§14.2), and so is what is no range at all.
_RANGE: Final = re.compile(
    rb"bytes=[ \t]*(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))[ \t]*", re.IGNORECASE
)
_TAG: Final = re.compile(rb'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes from ``start`` up to ``stop`` of a file, which need not be all of it."""

    start: int
    stop: int


def is_known(context: RequestContext, tag: str) -> bool:
    """Tell whether ``If-None-Match`` says that the client has the file with the entity tag ``tag`` already.

    Weak tags count as strong ones here (§13.1.2).
    """
    given = context.request.raw_header(b"if-none-match")
    if given is None:
        return False
    return given.strip() == b"*" or tag.encode() in _TAG.findall(given)


def part_of(context: RequestContext, tag: str, size: int) -> Part | None:
    """Return the part that ``Range`` asks for of a file of ``size`` bytes; None for the whole.

    RangeNotSatisfiable when there is no byte in it. ``If-Range`` must name ``tag``, or the whole is what is
    asked for (§13.1.5); dates never fit, since files have none.
    """
    given = context.request.raw_header(b"range")
    if given is None or (found := _RANGE.fullmatch(given)) is None:
        return None
    if (
        condition := context.request.raw_header(b"if-range")
    ) is not None and condition.strip() != tag.encode():
        return None
    first, last, length = (None if text is None else int(text) for text in found.groups())
    if first is None:
        first, last = max(0, size - (length or 0)), size - 1
    elif last is None:
        last = size - 1
    elif last < first:
        return None  # no range at all (§14.1.1)
    if first >= size:
        raise RangeNotSatisfiable(size)
    return Part(first, min(last or 0, size - 1) + 1)
