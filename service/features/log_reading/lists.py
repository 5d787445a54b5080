"""Lists of log entries: ordered by time, of any length, paged by cursor."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import fields
from datetime import datetime
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from msgspec import Meta, field

from service.errors import ValidationFailed
from service.features.log_reading.sentences import sentence
from service.features.log_reading.store_paging import MOST_COUNTED, Entry, Log, LogReader, Span, follow_cursor
from service.kernel.fields import camel
from service.kernel.text import MAX_USER_NAME
from service.kernel.value_rules import whole
from service.web.content.streams import Format
from service.web.messages.schema import Schema

E = TypeVar("E", bound=Entry)
F = TypeVar("F")
T = TypeVar("T")
W = TypeVar("W", bound=Schema)

MOST_EXPORTED = 1_000_000

Cursor = Annotated[
    str,
    Meta(max_length=64, description="The `nextCursor` of the previous page; `page` is then ignored."),
]
After = Annotated[
    str,
    Meta(
        max_length=64,
        description="The `followCursor` of an earlier answer: returns later entries, in the order of writing."
        " `page` and `sort` are ignored.",
    ),
]
Limit = Annotated[
    int,
    Meta(ge=1, le=MOST_EXPORTED, description="The most rows. A file with that many rows may be incomplete."),
]
UserName = Annotated[
    str, Meta(min_length=1, max_length=MAX_USER_NAME, description="As written at that time.")
]
RequestId = Annotated[str, Meta(min_length=1, max_length=64)]
TraceId = Annotated[
    str,
    Meta(pattern=whole("[0-9a-f]{32}"), examples=["4bf92f3577b34da6a3ce929d0e0e4736"]),
    Meta(description="The trace of the request, if the service is traced."),
]
Address = Annotated[
    str,
    Meta(min_length=1, max_length=64, examples=["203.0.113.7"]),
    Meta(description="An address, or a network such as `10.0.0.0/8`."),
]
FileFormat = Annotated[
    Format,
    Meta(
        description="CSV with a header, JSON with the rows as `items`, one JSON object per line, or an Excel"
        " workbook."
    ),
]


class TimePage(Schema, Generic[T]):
    """One page of a long list, and the cursor of the next page, null at the end.

    `total` is exact up to 10,000. Beyond, it is 10,000 and `totalIsExact` is false. With a cursor it is null,
    since entries are not counted again. `followCursor` is the value of `after` for reading later entries. A
    page by `nextCursor` has none.
    """

    items: list[T]
    page: int
    size: int
    total: int | None
    total_is_exact: bool
    next_cursor: str | None
    follow_cursor: str | None


TimeSort = Literal["-createTime", "createTime"]


class TimeQuery(Schema):
    """Limits on the time of entries, and their order."""

    from_: Annotated[datetime, Meta(tz=True, description="Not before this time.")] | None = field(
        default=None, name="from"
    )
    to: Annotated[datetime, Meta(tz=True, description="Before this time.")] | None = None
    sort: Annotated[TimeSort, Meta(description="`-createTime`: the newest first.")] = "-createTime"

    def __post_init__(self) -> None:
        if self.from_ is not None and self.to is not None and self.from_ >= self.to:
            raise ValidationFailed(("to", sentence("end_before_start")))

    @property
    def newest_first(self) -> bool:
        """True if the newest entry comes first."""
        return self.sort == "-createTime"

    def filter(self, log: Log[Any, F], **instead: object) -> F:
        """Return the filter of ``log`` made from parameters of the same names; ``instead`` overrides them.

        Raises ValidationFailed for a malformed address.
        """
        asked = fields(log.filter)  # type: ignore[arg-type]  # a dataclass
        names = {criterion.name for criterion in asked} & {*self.__struct_fields__}
        values = {name: getattr(self, name) for name in names}
        for name in names:
            if name.endswith("_ip"):
                values[name] = address_or_network(values[name], camel(name))
        return log.filter(**{**values, "span": Span(self.from_, self.to), **instead})


class Paged(Protocol):
    """The query of a page: by number within the first entries, or by cursor without a limit."""

    page: int
    size: int
    cursor: str | None
    after: str | None

    @property
    def newest_first(self) -> bool:
        """The order."""


class Exported(Protocol):
    """The query of an export."""

    limit: int

    @property
    def newest_first(self) -> bool:
        """The order."""


async def time_page(
    reader: LogReader, log: Log[E, F], criteria: F, query: Paged, kind: type[W]
) -> TimePage[W]:
    """Return a page of ``log`` with entries as ``kind``; raises ValidationFailed for a bad cursor."""
    if query.cursor is not None and query.after is not None:
        raise ValidationFailed(("after", sentence("after_with_cursor")))
    listed = await reader.page(
        log,
        criteria,
        page=query.page,
        cursor=query.cursor,
        after=query.after,
        size=query.size,
        newest_first=query.newest_first,
    )
    return TimePage(
        items=[kind.of(entry) for entry in listed.items],
        page=query.page,
        size=query.size,
        total=None if listed.counted is None else min(listed.counted, MOST_COUNTED),
        total_is_exact=listed.counted is not None and listed.counted <= MOST_COUNTED,
        next_cursor=None if listed.following is None else listed.following.cursor,
        follow_cursor=None if listed.written is None else follow_cursor(listed.written),
    )


async def batches_of(
    reader: LogReader, log: Log[E, F], criteria: F, query: Exported, kind: type[W]
) -> AsyncGenerator[list[W], None]:
    """Yield the entries for the export ``query``, as ``kind``, in batches."""
    batches = reader.everything(log, criteria, limit=query.limit, newest_first=query.newest_first)
    async with aclosing(batches):
        async for batch in batches:
            yield [kind.of(entry) for entry in batch]


def address_or_network(text: str | None, name: str) -> str | None:
    """Return an address, or a network in CIDR notation, in canonical form.

    Raises ValidationFailed for the field ``name``. An IPv4-mapped IPv6 address becomes the IPv4 address, as
    in logged addresses.
    """
    if text is None:
        return None
    try:
        if "/" in text:
            return str(ip_network(_without_zone(text)))
        address = ip_address(_without_zone(text))
    except ValueError:
        raise ValidationFailed((name, sentence("not_a_network"))) from None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def _without_zone(text: str) -> str:
    if "%" in text:  # RFC 4007; no address of a remote client has one
        raise ValueError("the address has a zone")
    return text
