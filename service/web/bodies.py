"""JSON bodies: from bytes to a Struct, or the refusal that the contract names."""

from __future__ import annotations

import json
import re
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from service.errors import BadRequest, UnsupportedMediaType
from service.web.request import Request
from service.web.violations import check_text, refusal_for

MAX_BODY: Final = 1024 * 1024
"""The longest JSON body in bytes."""

# RFC 9110 §8.3.1; RFC 8259 §8.1 knows no other encoding.
_JSON: Final = re.compile(r'application/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?;?[ \t]*')
_ESCAPED_NUL: Final = b"\\u0000"

S = TypeVar("S", bound=Struct)


def is_optional(kind: type[Struct]) -> bool:
    """Tell whether a body of ``kind`` may be left out: whether each of its members may."""
    return not any(field.required for field in msgspec.structs.fields(kind))


class JsonBody(Generic[S]):
    """Reads the bodies of one operation as ``kind``.

    Where every member is optional, no body at all, or an empty one, stands for ``{}``.
    """

    def __init__(self, kind: type[S]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode
        self._instead_of_none = b"{}" if is_optional(kind) else b""

    async def read(self, request: Request) -> S:
        """Return the body of ``request``.

        UnsupportedMediaType, TooLarge; BadRequest for what is no JSON text (RFC 8259) or names a member
        twice; ValidationFailed for JSON that breaks a rule of the type, or text with a NUL.
        """
        if self._instead_of_none and request.content_type is None:
            if not await request.body_within(MAX_BODY):
                return self._parse(self._instead_of_none)
            raise _not_json()
        _check_media_type(request)
        return self._parse(await request.body_within(MAX_BODY) or self._instead_of_none)

    def _parse(self, raw: bytes) -> S:
        try:
            body = self._decode(raw)
        except msgspec.ValidationError as error:
            raise refusal_for(error) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise BadRequest("The body is not well-formed JSON") from None
        # After the types are known to fit: this pass is slow on a megabyte of arbitrary objects.
        plain = _refusing_duplicates(raw)
        if _ESCAPED_NUL in raw:
            check_text(plain)
        return body


def _check_media_type(request: Request) -> None:
    content_type = request.content_type
    if content_type != "application/json" and not _JSON.fullmatch((content_type or "").lower()):
        raise _not_json()
    if request.raw_header(b"content-encoding") is not None:
        raise UnsupportedMediaType("The body must not be compressed")


def _not_json() -> UnsupportedMediaType:
    return UnsupportedMediaType("The body must be application/json in UTF-8")


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    together = dict(members)
    if len(together) != len(members):
        raise BadRequest("The body names a member of an object twice")
    return together


# msgspec keeps the last of two members with one name, other readers keep the first: what was checked by one
# and obeyed by another is a way around a check (RFC 8259 §4). Numbers stay text, nobody reads them.
_duplicate_reader: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_int=str, parse_float=str)


def _refusing_duplicates(raw: bytes) -> Any:
    try:
        return _duplicate_reader.decode(raw.decode())
    except (ValueError, RecursionError):
        raise BadRequest("The body is not well-formed JSON") from None
