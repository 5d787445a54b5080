"""``sys.opening``: what administrators have opened in other services without a permission code.

Callers that change one hold ``policy_revisions.lock``.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, Literal

from sqlalchemy import case, exists, func, insert, literal, select
from sqlalchemy import delete as delete_from
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict
from service.kernel.clock import from_seconds
from service.kernel.core_sentences import sentence
from service.kernel.services import PublishedOpening, has_ended, object_of, with_end
from service.records.database.filters import below, equals, one_of, whether
from service.records.database.paging import RecordList
from service.records.database.row_mapper import RowMapper
from service.records.schema.rights import opening, resource

OpenTo = Literal["@login", "@anyone"]
"""Callers admitted by an opening: every logged-in caller, or every caller."""

_UNREGISTERED: Final = "@unregistered"
_JOINED: Final = opening.outerjoin(resource, resource.c.id == opening.c.resource_id)
_SERVICE: Final = func.coalesce(opening.c.service, resource.c.service)
_ROUTE: Final = case(
    (opening.c.resource_id.is_(None), literal(_UNREGISTERED)),
    else_=resource.c.method + " " + resource.c.path,
)


@dataclass(frozen=True, slots=True)
class Opening:
    """An opening in another service: ``route`` is that of a resource, or ``@unregistered``.

    It expires at ``until``, in whole seconds; None for no expiry.
    """

    id: int
    service: str
    route: str
    resource_id: int | None
    code: OpenTo
    create_time: datetime
    until: datetime | None

    @property
    def word(self) -> str:
        """The code of its policy line: ``@anyone until 2026-12-31T00:00:00Z``."""
        return with_end(self.code, self.until)

    @property
    def object(self) -> str:
        """The name by which policy lines know it, such as ``orders @unregistered``."""
        return object_of(self.service, self.route)


@dataclass(frozen=True, slots=True)
class OpeningFilter:
    """A filter of openings: the service, the word, the end.

    ``services`` are those of which one may be shown.
    """

    service: Annotated[str | None, equals(_SERVICE)] = None
    code: Annotated[Collection[str] | None, one_of(opening.c.code)] = None
    ends_before: Annotated[datetime | None, below(opening.c.end_time)] = None
    endless: Annotated[bool | None, whether(opening.c.end_time.is_(None))] = None
    services: Annotated[tuple[str, ...] | None, one_of(_SERVICE)] = None


SORTS: Final = {
    "id": opening.c.id,
    "service": _SERVICE,
    "code": opening.c.code,
    "until": opening.c.end_time,
}
"""The columns by which a list of openings can be sorted."""

_OPENING: Final = RowMapper(Opening, opening, service=_SERVICE, route=_ROUTE, until=opening.c.end_time)

_LIST: Final = RecordList[Opening, OpeningFilter](
    "opening", _OPENING, _OPENING.select.select_from(_JOINED), SORTS
)
page = _LIST.page
read = _LIST.read
every = _LIST.every


async def published(connection: AsyncConnection) -> list[PublishedOpening]:
    """Return the openings that the policy has lines for: not those of disabled resources."""
    shown = opening.c.resource_id.is_(None) | resource.c.enabled
    statement = _OPENING.select.select_from(_JOINED).where(shown).order_by(opening.c.id)
    return [
        PublishedOpening(stored.object, stored.word) for stored in await _OPENING.all(connection, statement)
    ]


async def of(connection: AsyncConnection, service: str, resource_id: int | None) -> Opening | None:
    """Return the opening of a resource, or with None that of unregistered routes in ``service``."""
    same = opening.c.service == service if resource_id is None else opening.c.resource_id == resource_id
    return await _OPENING.one_or_none(connection, _OPENING.select.select_from(_JOINED).where(same))


async def create(
    connection: AsyncConnection,
    service: str,
    resource_id: int | None,
    code: str,
    until: datetime | None,
    *,
    now: float,
) -> Opening:
    """Open a resource, or with None unregistered routes in ``service``; Conflict if it is open ``now``.

    ``code`` is the plain word. ``until`` is an instant in whole seconds; None for no expiry. An expired
    opening is replaced.
    """
    other = await of(connection, service, resource_id)
    if other is not None and has_ended(other.word, now):
        await delete(connection, other.id)
    elif other is not None:
        raise Conflict(
            sentence("opening_taken", object=other.object, word=other.word), rule="unique", openingId=other.id
        )
    kept = {"service": service} if resource_id is None else {"resource_id": resource_id}
    values = {**kept, "code": code, "end_time": until}
    made = await connection.execute(insert(opening).values(values).returning(opening.c.id))
    return await read(connection, made.scalar_one())


async def delete(connection: AsyncConnection, opening_id: int) -> None:
    await connection.execute(delete_from(opening).where(opening.c.id == opening_id))


async def delete_ended(connection: AsyncConnection, instant: float) -> int:
    """Delete the openings expired at ``instant``, in seconds since the epoch; return their number."""
    at = from_seconds(instant)
    return (await connection.execute(delete_from(opening).where(opening.c.end_time <= at))).rowcount


async def some_ended(connection: AsyncConnection) -> bool:
    """Return True if an opening has expired, by the database's clock."""
    ended = exists().where(opening.c.end_time <= func.statement_timestamp())
    return bool((await connection.execute(select(ended))).scalar_one())
