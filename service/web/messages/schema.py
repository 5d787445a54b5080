"""Base types of bodies, queries and answers, and the encoder of answers.

Times in answers are ``Moment``, since msgspec writes a ``datetime`` with microseconds and the API uses
milliseconds. In bodies and queries they are aware ``datetime`` (``Annotated[datetime, Meta(tz=True)]``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import SimpleNamespace
from typing import Annotated, Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar

import msgspec
from msgspec import Meta, Struct

from service.audit.redaction import is_sensitive
from service.kernel import value_rules
from service.kernel.clock import rfc3339
from service.kernel.coded_sentences import Sentence
from service.kernel.fields import values_of
from service.kernel.value_rules import MAX_ID


class Members(NamedTuple):
    """Names of members; ``is_open`` says that there may be others, known only at run time.

    ``has_free_object``: other names are in an object that is stored and shown unchanged, such as the ``meta``
    of a menu. A rule restricts its names (``propertyNames``).
    """

    names: frozenset[str] = frozenset()
    is_open: bool = False
    has_free_object: bool = False

    @property
    def sensitive(self) -> bool:
        """True if a member may hold a secret, by its name or because its name is not known."""
        return self.has_free_object or self.may_be_secret

    @property
    def may_be_secret(self) -> bool:
        """True if ``sensitive`` for more than an object that is stored and shown as it is anyway."""
        return self.is_open or any(map(is_sensitive, self.names))

    def joined(self, *others: Members) -> Members:
        """Return these members and those of ``others``."""
        names = self.names.union(*(other.names for other in others))
        return Members(
            names,
            any(members.is_open for members in (self, *others)),
            any(members.has_free_object for members in (self, *others)),
        )


@cache
def members_of(kind: Any) -> Members:
    """Return the members of the type ``kind``; TypeError or NotImplementedError if JSON has no such type.

    Results are cached: it takes milliseconds, and every start asks two or three times about most types.
    """
    schemas, components = msgspec.json.schema_components([kind], schema_hook=schema_of)
    names: set[str] = set()
    free: list[Any] = []
    is_open = _read([*schemas, *components.values()], names, free)
    return Members(frozenset(names), is_open, bool(free))


def _read(schema: Any, names: set[str], free: list[Any]) -> bool:
    """Add the names in ``schema`` to ``names``, its free objects to ``free``; True if it allows others."""
    if isinstance(schema, list):
        below, is_open = schema, False
    elif isinstance(schema, dict) and schema.get("title") == SENTENCE_PARAMS.title:
        return False
    elif isinstance(schema, dict) and "propertyNames" in schema:
        free.append(schema)
        return False
    elif isinstance(schema, dict):
        properties = schema.get("properties", {})
        names.update(properties)
        below = [*properties.values(), *(value for name, value in schema.items() if name != "properties")]
        # A dictionary or Any: its names are known only at run time. A value of Any is an object.
        unnamed = schema.get("type") == "object" and "properties" not in schema
        is_open = not schema or schema.get("additionalProperties", unnamed) is not False
    else:
        return False
    for each in below:
        is_open |= _read(each, names, free)
    return is_open


WHOLE_LIST: Final = sys.maxsize
"""The size of a page that holds everything: commands print no pages."""

Id = value_rules.Id

Revision = Annotated[int, Meta(ge=1, le=MAX_ID, examples=[12])]
"""A policy revision."""

Line = Annotated[str, Meta(examples=["p, endpoint, GET /api/role/list, system:role:list"])]
"""A line of the policy."""

UpdatedBy = value_rules.UpdatedBy

SENTENCE_PARAMS: Final = Meta(
    title="SentenceParams",
    description="The parameters of a sentence: texts, numbers, lists of texts or sentences.",
)
SentenceParams = Annotated[Mapping[str, Any], SENTENCE_PARAMS]
"""The parameters of a sentence, which hold no secret: see ``service.kernel.coded_sentences``."""

T = TypeVar("T")
F = TypeVar("F")
W = TypeVar("W", bound="Schema")


class Moment(str):
    """A time in an answer, formatted as RFC 3339, UTC, with milliseconds."""

    __slots__ = ()


def moment(at: datetime) -> Moment:
    """Return the aware time ``at`` in the format of answers."""
    return Moment(rfc3339(at))


class Schema(Struct, forbid_unknown_fields=True, rename="camel"):
    """The base of all bodies, queries and answers: camelCase names, unknown fields are refused."""

    @classmethod
    def of(cls, record: object, **more: Any) -> Self:
        """Return the answer made from the attributes of ``record`` with the names of its fields.

        ``more`` are fields that the record does not have, or has otherwise. Nested records and lists of them
        become nested answers; an aware ``datetime`` becomes a ``Moment``.
        """
        source = SimpleNamespace(**values_of(record) | more) if more else record
        return msgspec.convert(source, cls, from_attributes=True, dec_hook=_decode_moment)

    def given(self) -> dict[str, Any]:
        """Return the fields that are set (not ``UNSET``), by their Python names."""
        fields = msgspec.structs.asdict(self)
        return {name: value for name, value in fields.items() if value is not msgspec.UNSET}


class ProtocolSchema(Struct):
    """The base of bodies and answers whose form an external specification defines.

    Names are not converted, unknown members are ignored, and an answer has no envelope. Every faulty body is
    rejected with 400.
    """

    @property
    def may_be_kept(self) -> bool:
        """True if equal bodies recur, so that parsed bodies are cached in memory.

        False for a body with a secret, and for operations that modify the parsed body.
        """
        return False


PageNumber = Annotated[int, Meta(ge=1, le=1_000_000_000, description="The page, from 1.")]
"""The number of a page."""

PageSize = Annotated[int, Meta(ge=1, le=200, description="Items on a page.")]
"""The number of items on a page."""


class Page(Schema, Generic[T]):
    """One page of a list; ``total`` counts the items of all pages."""

    items: list[T]
    page: int
    size: int
    total: int


class PageQuery(Schema):
    """The query of a paged list; lists add their filters as further fields."""

    page: PageNumber = 1
    size: PageSize = 20

    @property
    def offset(self) -> int:
        """The number of items before this page."""
        return (self.page - 1) * self.size

    def part(self, items: Sequence[T]) -> Sequence[T]:
        """Return those of all ``items`` that are on this page."""
        return items[self.offset : self.offset + self.size]

    def filter(self, kind: Callable[..., F]) -> F:
        """Return a ``kind`` made from the other parameters, passed by name."""
        return kind(
            **{name: getattr(self, name) for name in self.__struct_fields__ if name not in _NO_FILTERS}
        )


class PartQuery(Schema):
    """The query of an answer that holds a long list among other things: all of the list, or a page of it."""

    page: PageNumber = 1
    size: (
        Annotated[int, Meta(ge=1, le=1000, description="Members of a page; without it, all of them.")] | None
    ) = None

    def part(self, items: Sequence[T]) -> Sequence[T]:
        """Return those of all ``items`` that are wanted."""
        if self.size is None:
            return items
        return items[(self.page - 1) * self.size : self.page * self.size]


_NO_FILTERS: Final = ("page", "size", "sort")


class Found(Protocol):
    """The records of a page, and their number on all pages."""

    @property
    def items(self) -> Sequence[object]:
        """The records of the page."""

    @property
    def total(self) -> int:
        """The number of records on all pages."""


def page_answer(query: PageQuery, listed: Found, kind: type[W]) -> Page[W]:
    """Return the page of ``query``, each record as ``kind``."""
    items = [kind.of(record) for record in listed.items]
    return Page(items=items, page=query.page, size=query.size, total=listed.total)


SEVERAL: Final = Meta(description="Any of these values, separated by commas.")
"""The description of a filter by an enumeration: a list of which one value must match."""


def sort_keys(title: str, names: Iterable[str]) -> Meta:
    """Return the schema of the parameter ``sort`` of a list: ``names``, each also with ``-`` before it.

    ``title`` is its name in the OpenAPI document, such as ``UserSort``. The list itself rejects other keys.
    """
    return Meta(
        max_length=32,
        description="`-` before a key descends.",
        extra_json_schema={"title": title, "enum": [key for name in names for key in (name, f"-{name}")]},
    )


class Published(Schema):
    """The policy revision that has the change."""

    policy_revision: Revision


class Document(Struct, frozen=True):
    """An answer without a JSON envelope: sent unchanged, with its media type.

    A ``status`` other than 200 is for protocols whose errors are no problem documents.
    """

    content: bytes
    media_type: str
    status: int = 200


def is_protocol(kind: Any) -> bool:
    """True for a type of bodies or answers whose form others have specified."""
    return isinstance(kind, type) and issubclass(kind, ProtocolSchema)


def stated_as(name: str, stated: Sentence | None) -> dict[str, Any]:
    """Return the members ``name``, ``name_code`` and ``name_params`` of a struct, which hold a sentence."""
    values = (None, None, None) if stated is None else (str(stated), stated.code, stated.params)
    return dict(zip((name, f"{name}_code", f"{name}_params"), values, strict=True))


def envelope(data: object, warnings: Sequence[Sentence] = ()) -> bytes:
    """Return ``{"data": …}`` as JSON, with ``warnings`` and ``warningSentences`` if there are any."""
    more = b""
    if warnings:
        stated = [warning.as_member() for warning in warnings]
        more = b',"warnings":' + json_text(warnings) + b',"warningSentences":' + json_text(stated)
    return b'{"data":' + json_text(data) + more + b"}"


def schema_of(kind: type) -> dict[str, Any]:
    """Return the JSON schema of a type that msgspec does not support."""
    if kind is Moment:
        return {"type": "string", "format": "date-time", "examples": ["2026-11-21T02:33:53.123Z"]}
    raise NotImplementedError


def _decode_moment(kind: type, value: object) -> object:
    if kind is Moment and isinstance(value, datetime):
        return moment(value)
    if kind is Moment and isinstance(value, str):  # stored as a text, as in the facts of a notice
        return moment(datetime.fromisoformat(value))
    raise TypeError(f"{type(value).__name__} is no {kind.__name__}")


def _encode_moment(value: object) -> object:
    if isinstance(value, Moment | Sentence):
        return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that an answer may hold")


json_text: Final = msgspec.json.Encoder(enc_hook=_encode_moment).encode
"""Return an answer, or part of one, as JSON."""
