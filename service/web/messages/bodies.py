"""JSON bodies: from bytes to a Struct, or a refusal."""

from __future__ import annotations

import re
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from service.errors import BadRequest, UnsupportedMediaType, ValidationFailed
from service.kernel.strict_json import DuplicateMember, strict_json
from service.web.messages.faults import check_text, faults_of, refusal_for
from service.web.messages.partial_bodies import MERGE_PATCH, MergePatch
from service.web.messages.request import Request

MAX_BODY: Final = 1024 * 1024
"""The longest JSON body in bytes."""
MAX_PUBLIC_BODY: Final = 64 * 1024
"""The longest JSON body of a public operation in bytes: limits the work for unknown clients."""

JSON: Final = "application/json"

# RFC 9110 §8.3.1; RFC 8259 §8.1 allows no other encoding.
_CHARSET: Final = r'[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?;?[ \t]*'
_ESCAPED_NUL: Final = b"\\u0000"

S = TypeVar("S", bound=Struct)


def is_optional(kind: type[Struct]) -> bool:
    """True if a body of ``kind`` may be omitted: all of its members are optional, and it is no patch."""
    fields = msgspec.structs.fields(kind)
    return not issubclass(kind, MergePatch) and not any(field.required for field in fields)


def media_types(kind: type[Struct]) -> tuple[str, ...]:
    """Return the media types of JSON bodies of ``kind``."""
    return (JSON, MERGE_PATCH) if issubclass(kind, MergePatch) else (JSON,)


class JsonBody(Generic[S]):
    """Reads the bodies of one operation as ``kind``, at most ``limit`` bytes.

    If every member is optional, a missing or empty body means ``{}``.
    """

    _checks_text = True

    def __init__(self, kind: type[S], limit: int = MAX_BODY) -> None:
        self._kind = kind
        self._decode = msgspec.json.Decoder(kind).decode
        self._instead_of_none = b"{}" if is_optional(kind) else b""
        self._limit = limit
        self._media_types = media_types(kind)
        self._accepted = re.compile(f"(?:{'|'.join(map(re.escape, self._media_types))}){_CHARSET}")

    async def read(self, request: Request) -> S:
        """Return the body of ``request``.

        Raises UnsupportedMediaType, TooLarge, BadRequest for malformed JSON (see ``strict_json``) or
        duplicate members, ValidationFailed for JSON that breaks a rule of the type, or text with a NUL.
        """
        if self._instead_of_none and request.content_type is None:
            if not await request.body_within(self._limit):
                return self._parse(self._instead_of_none)
            raise self._not_json()
        self._check_media_type(request)
        return self._parse(await request.body_within(self._limit) or self._instead_of_none)

    def _parse(self, raw: bytes) -> S:
        # Syntax before types: msgspec stops at the first value of a wrong type, even if malformed JSON
        # follows.
        plain = _well_formed(raw)
        try:
            body = self._decode(raw)
        except msgspec.ValidationError as error:
            raise self._refusal(error, raw) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise _malformed() from None
        if self._checks_text and _ESCAPED_NUL in raw:
            check_text(plain)
        return body

    def _refusal(self, error: msgspec.ValidationError, raw: bytes) -> ValidationFailed:
        try:
            value = msgspec.json.decode(raw)
        except msgspec.MsgspecError:  # a number that is too large for any type
            return refusal_for(error)
        return ValidationFailed(*faults_of(error, value, self._kind))

    def _check_media_type(self, request: Request) -> None:
        content_type = request.content_type
        if content_type != JSON and not self._accepted.fullmatch((content_type or "").lower()):
            raise self._not_json()
        if request.raw_header(b"content-encoding") is not None:
            raise UnsupportedMediaType("The body must not be compressed")

    def _not_json(self) -> UnsupportedMediaType:
        # A 415 to a PATCH says what it takes (RFC 5789 §2.2).
        accepts = {"Accept-Patch": ", ".join(self._media_types)} if MERGE_PATCH in self._media_types else None
        message = f"The body must be {' or '.join(self._media_types)} in UTF-8"
        return UnsupportedMediaType(message, headers=accepts)


class ProtocolBody(JsonBody[S]):
    """Reads the bodies of a specification of others: see ``ProtocolSchema``. Texts may hold a NUL."""

    _checks_text = False

    def __init__(self, kind: type[S], limit: int = MAX_BODY) -> None:
        super().__init__(kind, limit)
        self._instead_of_none = b""

    async def read(self, request: Request) -> S:
        """Return the body of ``request``; raises BadRequest for every fault but its length: TooLarge."""
        try:
            return await super().read(request)
        except ValidationFailed as refusal:
            fault, *_ = refusal.extra["errors"]
            raise BadRequest(f"{fault['field']}: {fault['message']}") from None
        except UnsupportedMediaType as refusal:
            raise BadRequest(refusal.detail) from None


def _malformed() -> BadRequest:
    return BadRequest("The body is not well-formed JSON")


def _well_formed(raw: bytes) -> Any:
    # msgspec keeps the last of two members with one name, other parsers keep the first: such differences are
    # a way around checks. The numbers in this result are not used.
    try:
        return strict_json(raw, numbers_as_text=True)
    except DuplicateMember:
        raise BadRequest("The body has an object with a duplicate member") from None
    except ValueError:
        raise _malformed() from None
