"""``sys.service``: other services, and how their routers read requests.

Callers that change one hold ``policy_revisions.lock``.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta
from sqlalchemy import delete as delete_from
from sqlalchemy import insert, select
from sqlalchemy import update as change
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict
from service.kernel.core_sentences import sentence
from service.kernel.fields import ITS_TYPE, Field, declared
from service.kernel.services import Service
from service.kernel.value_rules import DESCRIPTION
from service.records.database.filters import contains, one_of
from service.records.database.paging import RecordList, sorts_of
from service.records.database.row_mapper import RowMapper, RowWriter
from service.records.schema.rights import service


@declared
@dataclass(frozen=True, slots=True)
class ServiceValues:
    """The editable fields of another service; its name stays."""

    description: Annotated[str | None, Field(DESCRIPTION)] = None
    ignore_case: Annotated[
        bool,
        Field(ITS_TYPE),
        Meta(description="True if the router treats `/Orders` and `/orders` as the same path."),
    ] = False
    ignore_trailing_slash: Annotated[
        bool,
        Field(ITS_TYPE),
        Meta(description="True if the router treats `/orders/` and `/orders` as the same path."),
    ] = False
    allow_preflight: Annotated[
        bool,
        Field(ITS_TYPE),
        Meta(description="True if preflight requests pass, which carry no credentials."),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredService(ServiceValues):
    """Another service; ``version`` rises with each edit."""

    id: int
    name: str
    version: int
    create_time: datetime
    update_time: datetime
    updated_by: str | None

    @property
    def router(self) -> Service:
        """The service as the policy knows it."""
        return router_of(self.name, self)


@dataclass(frozen=True, slots=True)
class ServiceFilter:
    """A filter of services: part of the name; ``services`` are those of which one may be shown."""

    name: Annotated[str | None, contains(service.c.name), Meta(max_length=32)] = None
    services: Annotated[Collection[str] | None, one_of(service.c.name)] = None


SORTS: Final = sorts_of(service, "id", "name", "create_time", "update_time")
"""The columns by which a list of services can be sorted."""

_PUBLISHED: Final = RowMapper(Service, service)
_STORED: Final = RowMapper(StoredService, service)
_WRITER: Final = RowWriter(ServiceValues, service)

_LIST: Final = RecordList[StoredService, ServiceFilter](
    "service", _STORED, select(*_STORED.columns), SORTS, "name"
)
page = _LIST.page
read = _LIST.read
every = _LIST.every


def router_of(name: str, values: ServiceValues) -> Service:
    """Return the service ``name`` with these values as the policy knows it."""
    return Service(name, values.ignore_case, values.ignore_trailing_slash, values.allow_preflight)


async def published(connection: AsyncConnection) -> list[Service]:
    """Return the values of each service that the policy publishes, by name."""
    return await _PUBLISHED.all(connection, select(*_PUBLISHED.columns).order_by(service.c.name))


async def named(connection: AsyncConnection, name: str) -> StoredService | None:
    """Return the service of that name; None if unknown."""
    return await _STORED.one_or_none(connection, select(*_STORED.columns).where(service.c.name == name))


async def create(connection: AsyncConnection, name: str, values: ServiceValues) -> StoredService:
    """Register a service; Conflict if there is one of that name."""
    if (other := await named(connection, name)) is not None:
        raise Conflict(
            sentence("service_taken", service=name), rule="unique", field="name", serviceId=other.id
        )
    stored = insert(service).values(_WRITER.new(values, name=name))
    return await _STORED.returned(connection, stored.returning(*_STORED.columns))


async def update(connection: AsyncConnection, service_id: int, values: ServiceValues) -> StoredService:
    """Store ``values`` in an existing service."""
    written = (
        change(service)
        .where(service.c.id == service_id)
        .values(_WRITER.edited(asdict(values)))
        .returning(*_STORED.columns)
    )
    return await _STORED.returned(connection, written)


async def delete(connection: AsyncConnection, service_id: int) -> None:
    """Delete a service without resources, and the opening of its unregistered routes."""
    await connection.execute(delete_from(service).where(service.c.id == service_id))
