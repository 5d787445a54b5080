"""``sys.resource``: the routes that administrators have registered.

Callers that change one hold ``policy_revisions.lock``, so that their checks stay valid until the
commit.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta
from sqlalchemy import and_, exists, func, insert, or_, select, tuple_
from sqlalchemy import delete as delete_from
from sqlalchemy import update as change
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict
from service.kernel import value_rules
from service.kernel.assurance import Demand, words_of
from service.kernel.core_sentences import sentence
from service.kernel.fields import ITS_EDIT, ITS_TYPE, Field, declared
from service.kernel.services import PORTCULLIS, object_of
from service.records.database.filters import any_of, contains, contains_folded, equals, one_of, whether
from service.records.database.paging import RecordList, sorts_of
from service.records.database.row_mapper import RowMapper, RowWriter
from service.records.schema.rights import action_resource, menu, opening, resource


@declared
@dataclass(frozen=True, slots=True)
class ResourceValues:
    """The editable fields of a resource. Which paths it may have depends on its service."""

    resource_name: Annotated[str, Field(value_rules.SHORT_LINE), Meta(examples=["Read a report"])]
    resource_code: Annotated[
        str,
        Field(value_rules.RESOURCE_CODE),
        Meta(examples=["report.detail"], description="The unique name for programs."),
    ]
    method: Annotated[str, Field(value_rules.METHOD, in_state=False)]
    path: Annotated[
        str,
        Field(ITS_EDIT, in_state=False),
        Meta(max_length=value_rules.MAX_REGISTERED_PATH, examples=["/api/report/{id}"]),
        Meta(
            description="Segments of `[A-Za-z0-9._~-]`, or `{name}` for one whole segment. Method and path "
            "are unique, independent of the names of parameters."
        ),
    ]
    description: Annotated[str | None, Field(value_rules.DESCRIPTION)] = None
    enabled: Annotated[bool, Field(ITS_TYPE)] = True
    service: Annotated[str, Field(value_rules.service_fault, fixed=True, in_state=False)] = PORTCULLIS
    assurance: Annotated[
        Demand | None,
        Field(ITS_TYPE, late=True),
        Meta(
            description="The authentication demanded of persons beside a code; `null` demands nothing more.",
        ),
    ] = None
    services: Annotated[
        bool,
        Field(ITS_TYPE, late=True),
        Meta(description="True if service accounts pass despite `assurance`; false without a demand."),
    ] = False

    @property
    def object(self) -> str:
        """The name by which policy lines know it, such as ``orders GET /orders/{id}``."""
        return object_of(self.service, f"{self.method} {self.path}")

    @property
    def demand(self) -> tuple[str, ...]:
        """The words of its lines of the layer ``assurance``."""
        return words_of(self.assurance, services=self.services)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(ResourceValues):
    """A registered route; ``version`` rises with each edit."""

    id: int
    version: int
    create_time: datetime
    update_time: datetime
    updated_by: str | None


_NAME: Final = contains_folded(resource.c.resource_name_folded)
_CODE: Final = contains(resource.c.resource_code)
_PATH: Final = contains(resource.c.path)
_BOUND: Final = exists().where(action_resource.c.resource_id == resource.c.id)
_CLOSED: Final = and_(
    resource.c.enabled,
    or_(resource.c.service != PORTCULLIS, _BOUND),
    ~_BOUND.where(menu.c.id == action_resource.c.menu_id, menu.c.enabled),
    ~exists().where(opening.c.resource_id == resource.c.id),
)
"""True if the policy line of the resource is ``@nobody``: see ``service.authz.publishing.derive``."""


@dataclass(frozen=True, slots=True)
class ResourceFilter:
    """A filter of resources: part of the name, code or path; method, service and state; None matches all.

    ``services`` are those of which one may be shown.
    """

    keyword: Annotated[
        str | None,
        any_of(_NAME, _CODE, _PATH),
        Meta(
            max_length=value_rules.MAX_REGISTERED_PATH,
            description="A part of the name, the code or the path.",
        ),
    ] = None
    resource_name: Annotated[str | None, _NAME, Meta(max_length=128)] = None
    resource_code: Annotated[str | None, _CODE, Meta(max_length=64)] = None
    method: Annotated[Collection[value_rules.Method] | None, one_of(resource.c.method)] = None
    path: Annotated[str | None, _PATH, Meta(max_length=value_rules.MAX_REGISTERED_PATH)] = None
    service: Annotated[value_rules.ServiceName | None, equals(resource.c.service)] = None
    services: Annotated[tuple[str, ...] | None, one_of(resource.c.service)] = None
    enabled: Annotated[bool | None, equals(resource.c.enabled)] = None
    closed: Annotated[
        bool | None,
        whether(_CLOSED),
        Meta(
            description="True if the resource is closed to everybody: it is enabled, has no public access, "
            "and is bound to disabled Buttons only. A resource of another service is also closed "
            "without a binding."
        ),
    ] = None


SORTS: Final = sorts_of(
    resource,
    "id",
    "resource_name",
    "resource_code",
    "method",
    "path",
    "service",
    "enabled",
    "create_time",
    "update_time",
)
"""The columns by which a list of resources can be sorted."""

RESOURCE: Final = RowMapper(Resource, resource)
"""Reads resources."""

_WRITER: Final = RowWriter(ResourceValues, resource)

_LIST: Final = RecordList[Resource, ResourceFilter]("resource", RESOURCE, RESOURCE.select, SORTS)
page = _LIST.page
read = _LIST.read


async def every(connection: AsyncConnection) -> list[Resource]:
    """Return all resources of all services, disabled ones too, by service, path and method."""
    ordered = RESOURCE.select.order_by(resource.c.service, resource.c.path, resource.c.method)
    return await RESOURCE.all(connection, ordered)


async def of_service(connection: AsyncConnection, service: str = PORTCULLIS) -> list[Resource]:
    """Return the resources of one service, by default of this one, disabled ones too, by path and method."""
    statement = RESOURCE.select.where(resource.c.service == service)
    return await RESOURCE.all(connection, statement.order_by(resource.c.path, resource.c.method))


async def services_of(connection: AsyncConnection, resource_ids: Collection[int]) -> set[str]:
    statement = select(resource.c.service).where(resource.c.id.in_(resource_ids)).distinct()
    return set((await connection.execute(statement)).scalars())


async def matching(
    connection: AsyncConnection,
    *,
    shapes: Collection[tuple[str, str, str]] = (),
    ids: Collection[int] = (),
    codes: Collection[str] = (),
) -> list[Resource]:
    """Return the resources, disabled ones too, that have one of the ids or codes, or match the requests.

    ``shapes`` are services with methods and shapes.
    """
    same_requests = tuple_(resource.c.service, resource.c.method, resource.c.shape).in_(shapes)
    condition = same_requests | resource.c.id.in_(ids) | resource.c.resource_code.in_(codes)
    return await RESOURCE.all(connection, RESOURCE.select.where(condition).order_by(resource.c.id))


async def overlapping_paths(
    connection: AsyncConnection, service: str, method: str, path: str, *, but: int
) -> dict[str, int]:
    """Return, by path, the ids of the enabled resources that may match a request that ``path`` matches.

    They are of that service and method and have as many segments as ``path``, or differ by a slash at the
    end. The resource ``but`` is left out.
    """
    segments = func.cardinality(func.string_to_array(func.rtrim(resource.c.path, "/"), "/"))
    statement = select(resource.c.path, resource.c.id).where(
        resource.c.service == service,
        resource.c.method == method,
        resource.c.enabled,
        resource.c.id != but,
        segments == len(path.rstrip("/").split("/")) if path != "/" else resource.c.path == "/",
    )
    return {row.path: row.id for row in await connection.execute(statement)}


async def create(connection: AsyncConnection, values: ResourceValues) -> Resource:
    """Register a resource, enabled unless ``values`` say otherwise.

    Conflict if another resource has the code or matches the same requests.
    """
    await _refuse_taken(connection, values)
    written = insert(resource).values(_WRITER.new(values))
    return await RESOURCE.returned(connection, written.returning(*RESOURCE.columns))


async def update(connection: AsyncConnection, resource_id: int, values: ResourceValues) -> Resource:
    """Store ``values`` in an existing resource; Conflict as ``create``."""
    await _refuse_taken(connection, values, but=resource_id)
    return await _edit(connection, resource_id, asdict(values))


async def set_enabled(connection: AsyncConnection, resource_id: int, enabled: bool) -> Resource:
    """Enable or disable an existing resource."""
    return await _edit(connection, resource_id, {"enabled": enabled})


async def delete(connection: AsyncConnection, resource_id: int) -> None:
    """Delete a resource with its bindings."""
    await connection.execute(delete_from(resource).where(resource.c.id == resource_id))


async def _edit(connection: AsyncConnection, resource_id: int, values: dict[str, object]) -> Resource:
    written = (
        change(resource)
        .where(resource.c.id == resource_id)
        .values(_WRITER.edited(values))
        .returning(*RESOURCE.columns)
    )
    return await RESOURCE.returned(connection, written)


async def _refuse_taken(connection: AsyncConnection, values: ResourceValues, *, but: int = 0) -> None:
    """Raise Conflict, naming the other resource, if its code or its requests are those of ``values``."""
    # The same expression as the column's: shapes are compared as the unique constraint does.
    shape = func.regexp_replace(values.path, r"\{[^/]*\}", "{}", "g")
    same_requests = (
        (resource.c.service == values.service)
        & (resource.c.method == values.method)
        & (resource.c.shape == shape)
    )
    same_code = resource.c.resource_code == values.resource_code
    fits = same_requests.label("fits")
    others = select(*RESOURCE.columns, fits).where(resource.c.id != but, same_requests | same_code)
    for row in await connection.execute(others.order_by(resource.c.id)):
        other = RESOURCE.of(row)
        if row.fits:
            raise Conflict(
                sentence("resource_taken", object=other.object, resource=other.id),
                rule="unique",
                field="path",
                resourceId=other.id,
            )
        raise Conflict(
            sentence("resource_code_taken", resource=other.id),
            rule="unique",
            field="resourceCode",
            resourceId=other.id,
        )
