"""JSON bodies, query strings and path parameters: from bytes to types, or a refusal."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache, reduce
from types import UnionType
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, Union, get_args, get_origin
from urllib.parse import unquote_plus

import msgspec
from msgspec import Struct

from service.errors import BadRequest, UnsupportedMediaType, ValidationFailed
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.sentences import expected, with_null
from service.kernel.strict_json import DuplicateMember, is_strict, strict_json
from service.kernel.type_faults import NO_FIELD
from service.kernel.value_rules import MAX_ID
from service.web.messages.faults import check_text, check_times, faults_of, nul_faults, refuse
from service.web.messages.record_schemas import MERGE_PATCH, MergePatch
from service.web.messages.request import Request
from service.web.messages.schema import ProtocolSchema

MAX_BODY: Final = 1024 * 1024
"""The longest JSON body in bytes."""
MAX_PUBLIC_BODY: Final = 64 * 1024
"""The longest JSON body of a public operation in bytes: limits the work for unknown clients."""

JSON: Final = "application/json"
_PLAIN: Final = JSON.encode("ascii")

# RFC 9110 §8.3.1; RFC 8259 §8.1 allows no other encoding.
_CHARSET: Final = r'[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?;?[ \t]*'
_ESCAPED_NUL: Final = b"\\u0000"
_EXTREME_YEARS: Final = (b"9999", b"0001", b"\\u")  # or a text that may have one, escaped

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

        Raises UnsupportedMediaType, TooLarge, and BadRequest for malformed JSON (see ``strict_json``) or
        duplicate members. Raises ValidationFailed for JSON that breaks a rule of the type, text with a NUL,
        or a time without a date in UTC.
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
        plain = None if is_strict(raw) else well_formed(raw)
        try:
            body = self._decode(raw)
        except msgspec.ValidationError:
            values = json.loads(raw, parse_int=_whole_number)
            refuse([*faults_of(values, self._kind), *self._nul_faults(raw, plain)])
            raise
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise _malformed() from None
        refuse(self._nul_faults(raw, plain))
        for year in _EXTREME_YEARS:  # a tenth of the time of a pattern
            if year in raw:
                check_times(body)
                break
        return body

    def _nul_faults(self, raw: bytes, plain: Any) -> list[tuple[str, Sentence]]:
        return list(nul_faults(plain)) if self._checks_text and _ESCAPED_NUL in raw else []

    def _check_media_type(self, request: Request) -> None:
        content_type = request.content_type
        if content_type != JSON and not self._accepted.fullmatch((content_type or "").lower()):
            raise self._not_json()
        if request.raw_header(b"content-encoding") is not None:
            raise UnsupportedMediaType(sentence("body_compressed"))

    def _not_json(self) -> UnsupportedMediaType:
        # A 415 to a PATCH lists the accepted media types (RFC 5789 §2.2).
        accepts = {"Accept-Patch": ", ".join(self._media_types)} if MERGE_PATCH in self._media_types else None
        types = reduce(lambda first, last: sentence("either", first=first, last=last), self._media_types)
        message = sentence("body_type", types=types)
        return UnsupportedMediaType(message, headers=accepts)


_LONGEST_KEPT: Final = 1024  # bytes
_MOST_KEPT: Final = 4096  # bodies of one operation

P = TypeVar("P", bound=ProtocolSchema)


class ProtocolBody(JsonBody[P]):
    """Reads the bodies of a specification of others: see ``ProtocolSchema``. Texts may hold a NUL."""

    _checks_text = False

    def __init__(self, kind: type[P], limit: int = MAX_BODY) -> None:
        super().__init__(kind, limit)
        self._instead_of_none = b""
        self._kept: dict[bytes, P] = {}

    def _parse(self, raw: bytes) -> P:
        if (body := self._kept.get(raw)) is None:
            body = super()._parse(raw)
            if len(raw) <= _LONGEST_KEPT and body.may_be_kept:
                if len(self._kept) >= _MOST_KEPT:
                    self._kept.clear()
                self._kept[raw] = body
        return body

    async def read(self, request: Request) -> P:
        """Return the body of ``request``; raises BadRequest for every fault but its length: TooLarge."""
        arrived, sent = request.arrived, request.sent_headers
        if arrived is not None and sent.get(b"content-type") == _PLAIN and b"content-encoding" not in sent:
            kept = None if arrived.get("more_body") else self._kept.get(arrived.get("body", b""))
            if kept is not None:  # this body has arrived as a whole, and an equal one was read before
                request.arrived, request.body = None, arrived["body"]
                return kept
        try:
            return await super().read(request)
        except ValidationFailed as refusal:
            fault, *_ = refusal.faults
            raise BadRequest(sentence("body_fault", field=fault.field, fault=fault.sentence)) from None
        except UnsupportedMediaType as refusal:
            raise BadRequest(refusal.sentence) from None


def _whole_number(digits: str) -> int:
    """Return a whole number, or one as much too large: Python refuses thousands of digits."""
    return int(digits[:40])


def _malformed() -> BadRequest:
    return BadRequest(sentence("body_not_json"))


def well_formed(raw: bytes) -> Any:
    """Return a JSON text as values; BadRequest for a malformed one, and for a duplicate member."""
    # msgspec keeps the last of two members with one name, other parsers keep the first: such differences are
    # a way around checks. The numbers in this result are not used.
    try:
        return strict_json(raw, numbers_as_text=True)
    except DuplicateMember:
        raise BadRequest(sentence("duplicate_member")) from None
    except ValueError:
        raise _malformed() from None


MAX_PARAMETERS: Final = 100

_YEAR: Final = re.compile(r"[0-9]{4}-")
_ID: Final = re.compile(r"[1-9][0-9]{0,18}")


class Query(Generic[S]):
    """Reads the query strings of one operation as ``kind``."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind
        fields = msgspec.structs.fields(kind)
        self._optional = not any(field.required for field in fields)
        names = ", ".join(field.encode_name for field in fields)
        self._unknown = sentence("unknown_parameter_of", names=names)
        self._lists = {
            field.encode_name: choices for field in fields if (choices := _choices_of(field.type)) is not None
        }
        self._never_text = {field.encode_name for field in fields if str not in _kinds_of(field.type)}
        self._times = {field.encode_name for field in fields if datetime in _kinds_of(field.type)}

    def read(self, query_string: str) -> S:
        """Return the parameters of ``query_string`` (without ``?``).

        A list is one parameter whose values are separated by commas. Raises ValidationFailed for a parameter
        that is unknown, repeated or not UTF-8, or has an invalid value. For an unknown parameter the fault
        names the known ones.
        """
        if not query_string and self._optional:
            return self._kind()
        values: dict[str, Any] = _parameters(query_string) if query_string else {}
        faults = [*self._lax_forms(values)]
        for name in self._lists.keys() & values.keys():
            values[name] = list(dict.fromkeys(values[name].split(",")))
            faults += _choice_faults(name, values[name], self._lists[name])
        try:
            query = msgspec.convert(values, self._kind, strict=False)
        except msgspec.ValidationError:
            faults += map(self._fault, faults_of(values, self._kind, "query", strict=False))
        refuse(faults)
        if self._times:
            check_times(query)
        return query

    def _fault(self, fault: tuple[str, Sentence]) -> tuple[str, Sentence]:
        """Return the fault of a parameter: a value within a list is none of its own, and none is null."""
        field, stated = fault
        name = field.partition("[")[0]
        shown = self._unknown if stated is NO_FIELD else with_null(stated, null=False)
        return (name if name in self._lists else field), shown

    def _lax_forms(self, values: dict[str, str]) -> Iterator[tuple[str, Sentence]]:
        """Yield faults of undocumented forms that msgspec would accept."""
        for name in self._never_text & values.keys():
            if values[name].lower() == "null":  # would be None: as if the filter were not there
                yield name, sentence("parameter_null")
        for name in self._times & values.keys():
            if not _YEAR.match(values[name]):  # a number would be seconds since 1970
                yield name, sentence("not_a_time")


@cache
def query_of(kind: type[S]) -> Query[S]:
    """Return the reader of ``kind``, made once."""
    return Query(kind)


def _choices_of(kind: Any) -> tuple[str, ...] | None:
    """Return the allowed values of a parameter that is a list; () if its items are no ``Literal``.

    None for any other parameter.
    """
    if get_origin(kind) in (Annotated, Union, UnionType):
        return next((choices for choices in map(_choices_of, get_args(kind)) if choices is not None), None)
    if get_origin(kind) is not list:
        return None
    (item,) = get_args(kind)
    return get_args(item) if get_origin(item) is Literal else ()


def _kinds_of(kind: Any) -> set[Any]:
    """Return the types that a parameter of the type ``kind`` may have."""
    if get_origin(kind) is Annotated:
        return _kinds_of(kind.__origin__)
    if get_origin(kind) in (Union, UnionType):
        return set().union(*map(_kinds_of, get_args(kind)))
    return {kind}


def _choice_faults(
    name: str, chosen: Iterable[str], choices: tuple[str, ...]
) -> Iterator[tuple[str, Sentence]]:
    if choices and not set(chosen) <= set(choices):
        yield name, sentence("not_among", choices=choices)


def no_query(query_string: str) -> None:
    """Raise ValidationFailed for any parameter. An ignored ``dryRun`` would make a real change."""
    if query_string:
        for name in _parameters(query_string):
            raise ValidationFailed((_shown(name), sentence("unknown_parameter")))


def _parameters(query_string: str) -> dict[str, str]:
    values: dict[str, str] = {}
    # Separators as in application/x-www-form-urlencoded of the URL standard.
    for part in query_string.split("&", MAX_PARAMETERS):
        name, _, value = part.partition("=")
        try:
            name, value = unquote_plus(name, errors="strict"), unquote_plus(value, errors="strict")
        except UnicodeDecodeError:
            raise ValidationFailed((_shown(name), sentence("parameter_not_utf8"))) from None
        if name in values:
            raise ValidationFailed((_shown(name), sentence("parameter_twice")))
        check_text(value, name)
        values[name] = value
    return values


def _shown(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,39}", name) else "query"


def path_reader(name: str, kind: Any) -> Callable[[str], Any] | None:
    """Return a parser of the path parameter ``name`` into ``kind``; None if ``kind`` is plain text.

    ValidationFailed has the field ``name``. An ``int`` is an id in canonical decimal form, so that no two
    paths mean the same record.
    """
    if kind is str:
        return None
    if kind is int:
        return lambda text: _id(name, text)

    def read(text: str) -> Any:
        try:
            return msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError:
            raise ValidationFailed((name, expected(kind, text))) from None

    return read


def _id(name: str, text: str) -> int:
    if _ID.fullmatch(text) is None or (number := int(text)) > MAX_ID:
        raise ValidationFailed((name, sentence("out_of_range", least=1, most=MAX_ID)))
    return number
