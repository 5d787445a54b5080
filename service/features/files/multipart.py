"""Bodies with one file: ``multipart/form-data`` (RFC 7578), read as it arrives."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from multipart import MultipartError, PushMultipartParser, parse_options_header

from service.errors import BadRequest, Refusal, TooLarge, UnsupportedMediaType, ValidationFailed
from service.features.files.sentences import sentence
from service.web.messages.request import Request

AROUND: Final = 16 * 1024
"""Bytes of a body allowed in addition to its file: boundaries, the headers of the part, a preamble."""

_MEDIA_TYPE: Final = "multipart/form-data"
_LONGEST_HEADER: Final = 4096
_MOST_HEADERS: Final = 8
_LONGEST_BOUNDARY: Final = 70  # RFC 2046 §5.1.1


class FileBody:
    """A body with one part, a file in the field ``field``; its ``name`` is known after ``open``.

    ``length`` is the declared size of the whole body in bytes, None if the client did not declare it.
    """

    def __init__(self, request: Request, field: str, silence: float) -> None:
        """Check the headers only; raises UnsupportedMediaType for any other kind of body.

        ``silence`` is the longest time without data from the client, in seconds.
        """
        media_type, options = parse_options_header(request.content_type or "")
        if media_type != _MEDIA_TYPE or request.raw_header(b"content-encoding") is not None:
            raise UnsupportedMediaType(sentence("multipart_required", type=_MEDIA_TYPE))
        self._parser = _parser(options.get("boundary", ""))
        self._pieces = request.body_pieces(silence)
        self._field = field
        self._events = self._parsed()
        self.length = request.content_length
        self.name = ""

    async def open(self) -> None:
        """Read up to the file. Raises BadRequest if malformed, ValidationFailed for another field."""
        async for event in self._events:
            if event is not None:
                self._check(event)
                self.name = event.filename or ""
                return
        raise ValidationFailed((self._field, sentence("required")))

    async def content(self) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the file, which is complete when the generator ends normally.

        Raises what ``open`` raises, also for another part after the file.
        """
        async for event in self._events:
            if isinstance(event, bytes):
                yield event
            elif event is not None:
                raise ValidationFailed((self._field, sentence("one_part_only")))

    async def close(self) -> None:
        await self._events.aclose()

    async def _parsed(self) -> AsyncGenerator[Any, None]:
        async with aclosing(self._pieces) as pieces:
            try:
                around = AROUND
                async for piece in pieces:
                    around -= len(piece)
                    for event in self._parser.parse(piece) if piece else ():  # an empty one would end it
                        around += len(event) if isinstance(event, bytes) else 0
                        yield event
                    # Bytes that the parser holds back, as the possible start of a boundary, are not counted
                    # yet.
                    if around < -_LONGEST_HEADER:
                        raise TooLarge(sentence("too_much_around_file"), headers={"Connection": "close"})
                self._parser.close()
            except MultipartError:
                raise _malformed() from None

    def _check(self, segment: Any) -> None:
        if segment.name != self._field:
            raise ValidationFailed((self._field, sentence("only_file_field", field=self._field)))
        if segment.filename is None:
            raise ValidationFailed((self._field, sentence("file_required")))


def _parser(boundary: str) -> PushMultipartParser:
    if not (0 < len(boundary) <= _LONGEST_BOUNDARY and boundary.isascii()):
        raise BadRequest(sentence("boundary_missing"))
    try:
        return PushMultipartParser(boundary, max_header_size=_LONGEST_HEADER, max_header_count=_MOST_HEADERS)
    except MultipartError:
        raise _malformed() from None


def _malformed() -> Refusal:
    return BadRequest(sentence("body_not_multipart", type=_MEDIA_TYPE), headers={"Connection": "close"})
