"""Other services, whose routes resources guard: ``/api/service``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from msgspec import Meta

from service.administration.services import ServiceChanges
from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.endpoints.shown_services import require_shown, shown_services
from service.errors import Conflict, NotFound, PreconditionFailed
from service.kernel.value_rules import ServiceName
from service.records import services
from service.records.database.transactions import Database
from service.web.messages.change_answers import published_answer
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import (
    created,
    dry_run,
    example_body,
    idempotent,
    logged,
    named,
    needs,
    publishes,
    refuses,
    tagged,
)
from service.web.messages.partial_bodies import MergePatch, patch_of, replacement_of
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.record_schemas import answer_of, body_of, filters_of
from service.web.messages.schema import (
    Id,
    Moment,
    Page,
    PageQuery,
    Published,
    Revision,
    Schema,
    UpdatedBy,
    page_answer,
    sort_keys,
)


@answer_of(services.ServiceValues, full=True)
class Service(Schema):
    """Another service. Each edit increments `version`, its `ETag`; the name stays."""

    id: Id
    name: ServiceName
    description: str | None
    version: Annotated[int, Meta(ge=1, examples=[3])]
    create_time: Moment
    update_time: Moment
    updated_by: UpdatedBy


class SavedService(Service, kw_only=True):
    """The saved service, and the policy revision from which it is in force."""

    policy_revision: Revision


@body_of(services.ServiceValues, left_out="default")
class ServiceBody(Schema):
    """How the router of a service reads requests. What it takes for one path must be one resource."""


@replacement_of(ServiceBody)
class ServiceReplacement(Schema):
    """All values of a service."""


@patch_of(ServiceBody)
class ServicePatch(MergePatch):
    """The values of a service that change (RFC 7396). `null` removes the description."""


class NewService(ServiceBody, kw_only=True):
    """A new service; `portcullis` is the name of this one."""

    name: ServiceName


@filters_of(services.ServiceFilter, without=["names"])
class ServiceQuery(PageQuery):
    """Filter and order of services; the name matches by parts."""

    sort: Annotated[str, sort_keys("ServiceSort", services.SORTS)] = "name"


def answer(context: RequestContext, saved: services.StoredService, policy: Policy) -> SavedService:
    """Return a saved service, with its ``ETag`` and the policy that follows."""
    return published_answer(context, SavedService, saved, policy)


class ServiceList:
    """``/api/service/list``."""

    def __init__(self, database: Database, live: LivePolicy) -> None:
        self._database = database
        self._live = live

    @needs("system:service:list", "system:service:resources")
    @named("listServices")
    async def on_get(self, context: RequestContext, query: ServiceQuery) -> Page[Service]:
        """List other services: those whose resources the caller may list."""
        shown = shown_services(context, self._live)
        criteria = replace(query.filter(services.ServiceFilter), names=shown)
        async with self._database.snapshot() as connection:
            listed = await services.page(
                connection, criteria, page=query.page, size=query.size, sort=query.sort
            )
        return page_answer(query, listed, Service)


class Services:
    """``/api/service``."""

    def __init__(self, changes: ServiceChanges) -> None:
        self._changes = changes

    @created("/api/service/{id}")
    @idempotent(answer)
    @needs("system:service:create")
    @dry_run
    @logged("service", "create", "INSERT")
    @publishes
    @refuses(Conflict)
    @example_body({"name": "orders", "description": "Orders and deliveries", "ignoreTrailingSlash": True})
    @tagged
    @named("createService")
    async def on_post(self, context: RequestContext, body: NewService) -> SavedService:
        """Register another service.

        Everything there is closed until resources are bound or opened.
        """
        given = body.given()
        name = given.pop("name")
        values = services.ServiceValues(**given)
        return answer(context, *await self._changes.create(context.user, name, values))


class OneService:
    """``/api/service/{id}``."""

    def __init__(self, database: Database, live: LivePolicy, changes: ServiceChanges) -> None:
        self._database = database
        self._live = live
        self._changes = changes

    @needs("system:service:list", "system:service:resources")
    @refuses(NotFound)
    @tagged
    @named("getService")
    async def on_get(self, context: RequestContext, id: int) -> Service:
        """Read another service."""
        async with self._database.transaction() as connection:
            service = await services.read(connection, id)
        require_shown(context, self._live, service.name)
        answer_tag(context, version_tag(service.version))
        return Service.of(service)

    @needs("system:service:update")
    @dry_run
    @logged("service", "update", "UPDATE")
    @publishes
    @refuses(NotFound, Conflict, PreconditionFailed)
    @example_body(
        {
            "description": "Orders and deliveries",
            "ignoreCase": True,
            "ignoreTrailingSlash": False,
            "allowPreflight": False,
        }
    )
    @tagged
    @named("updateService")
    async def on_put(self, context: RequestContext, body: ServiceReplacement, id: int) -> SavedService:
        """Replace the values of a service.

        How its router reads paths decides which resource gets a request: callers who change that must hold a
        code of each bound resource.
        """
        return answer(context, *await self._edit(context, id, body))

    @needs("system:service:update")
    @dry_run
    @logged("service", "update", "UPDATE")
    @publishes
    @refuses(NotFound, Conflict, PreconditionFailed)
    @example_body({"description": "Orders and deliveries"})
    @tagged
    @named("patchService")
    async def on_patch(self, context: RequestContext, body: ServicePatch, id: int) -> SavedService:
        """Change some values of a service, by the rules of a `PUT`."""
        return answer(context, *await self._edit(context, id, body))

    async def _edit(
        self, context: RequestContext, id: int, body: ServiceReplacement | ServicePatch
    ) -> tuple[services.StoredService, Policy]:
        return await self._changes.update(context.user, id, body.given(), unchanged(context))

    @needs("system:service:delete")
    @dry_run
    @logged("service", "delete", "DELETE")
    @publishes
    @refuses(NotFound, Conflict, PreconditionFailed)
    @named("deleteService")
    async def on_delete(self, context: RequestContext, id: int) -> Published:
        """Delete a service that has no resources any more."""
        context.policy = await self._changes.delete(context.user, id, unchanged(context))
        return Published(policy_revision=context.policy.revision)
