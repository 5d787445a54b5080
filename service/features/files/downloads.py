"""Answers with the content of a file: whole, conditional, and by ranges (RFC 9110 §13 and §14)."""

import re
from dataclasses import dataclass
from typing import Final

from service.errors import RangeNotSatisfiable
from service.features.files.store import File
from service.files.connections import PresignedUrls
from service.files.object_store import ObjectStore
from service.web.content.entity_tags import is_known
from service.web.content.streams import Stream, attachment, nothing
from service.web.messages.context import RequestContext

# No browser may run the content of a file in the origin of this service.
_POLICY: Final = "sandbox; default-src 'none'; frame-ancestors 'none'"
_PARTIAL: Final = 206
_NOT_MODIFIED: Final = 304
_ELSEWHERE: Final = 307


def file_tag(file: File) -> str:
    """Return the strong entity tag of a file's content, the same for the same bytes."""
    return f'"{file.sha256}"'


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Downloads:
    """Answers requests for the content of files."""

    objects: ObjectStore
    presigned: PresignedUrls | None

    def answer(self, context: RequestContext, file: File) -> Stream:
        """Return ``file``, the requested part of it, a redirect to it, or 304 if the client has it.

        Raises RangeNotSatisfiable.
        """
        tag = file_tag(file)
        headers = {"ETag": tag, "Content-Security-Policy": _POLICY}
        if is_known(context, tag):
            return Stream(nothing(), file.content_type, headers, status=_NOT_MODIFIED)
        disposition = attachment(file.name)
        if self.presigned is not None:
            where = {"Location": self.presigned.of(file.key, disposition)}
            return Stream(nothing(), file.content_type, headers | where, length=0, status=_ELSEWHERE)
        part = part_of(context, tag, file.size)
        headers |= {"Content-Disposition": disposition, "Accept-Ranges": "bytes"}
        status = 200
        if part is None:
            part = Part(0, file.size)
        else:
            status = _PARTIAL
            headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{file.size}"
        chunks = self.objects.read(file.key, file.size, part.start, part.stop)
        return Stream(chunks, file.content_type, headers, length=part.stop - part.start, status=status)


# A single range; several ranges and malformed ones may be ignored (§14.2).
_RANGE: Final = re.compile(
    rb"bytes=[ \t]*(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))[ \t]*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file: the bytes from ``start`` up to ``stop`` (exclusive)."""

    start: int
    stop: int


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
