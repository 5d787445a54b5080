"""Answers with the content of a file, for authorized users and for public links."""

from __future__ import annotations

from typing import Final

from service.files.connections import PresignedUrls
from service.files.object_store import ObjectStore
from service.records.files import File
from service.web.content.ranges import Part, is_known, part_of
from service.web.content.streams import Stream, attachment, nothing
from service.web.messages.context import RequestContext

ANY_TYPE: Final = "*/*"
"""The media type of these answers in the OpenAPI document."""

# No browser may run the content of a file in the origin of this service.
_POLICY: Final = "sandbox; default-src 'none'; frame-ancestors 'none'"
_PARTIAL: Final = 206
_NOT_MODIFIED: Final = 304
_ELSEWHERE: Final = 307


def file_tag(file: File) -> str:
    """Return the strong entity tag of a file's content, the same for the same bytes."""
    return f'"{file.sha256}"'


class Downloads:
    """Answers requests for the content of files."""

    def __init__(self, objects: ObjectStore, presigned: PresignedUrls | None) -> None:
        self._objects = objects
        self._presigned = presigned

    def answer(self, context: RequestContext, file: File) -> Stream:
        """Return ``file``, the requested part of it, a redirect to it, or 304 if the client has it.

        Raises RangeNotSatisfiable.
        """
        tag = file_tag(file)
        headers = {"ETag": tag, "Content-Security-Policy": _POLICY}
        if is_known(context, tag):
            return Stream(nothing(), file.content_type, headers, status=_NOT_MODIFIED)
        disposition = attachment(file.name)
        if self._presigned is not None:
            where = {"Location": self._presigned.of(file.key, disposition)}
            return Stream(nothing(), file.content_type, headers | where, length=0, status=_ELSEWHERE)
        part = part_of(context, tag, file.size)
        headers |= {"Content-Disposition": disposition, "Accept-Ranges": "bytes"}
        status = 200
        if part is None:
            part = Part(0, file.size)
        else:
            status = _PARTIAL
            headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{file.size}"
        chunks = self._objects.read(file.key, file.size, part.start, part.stop)
        return Stream(chunks, file.content_type, headers, length=part.stop - part.start, status=status)
