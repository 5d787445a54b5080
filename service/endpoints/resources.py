"""Resources: routes that administrators register to guard them: ``/api/resource``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from service.administration.resources import ResourceChanges
from service.authz.engine.paths import registered_fault
from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.endpoints.shown_services import require_shown, shown_services
from service.errors import Conflict, NotFound, PreconditionFailed, ValidationFailed
from service.kernel.value_rules import ServiceName
from service.records import resources
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

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@answer_of(resources.ResourceValues)
class Resource(Schema):
    """A registered route. Each edit increments `version`, its `ETag`; bindings have their own `ETag`."""

    id: Id
    resource_name: Annotated[str, Meta(examples=["Read a report"])]
    resource_code: Annotated[str, Meta(examples=["report.detail"])]
    method: Method
    path: Annotated[str, Meta(examples=["/api/report/{id}"])]
    service: Annotated[str, Meta(examples=["portcullis"])]
    version: Annotated[int, Meta(ge=1, examples=[3])]
    create_time: Moment
    update_time: Moment
    updated_by: UpdatedBy


class SavedResource(Resource, kw_only=True):
    """The saved resource, and the policy revision from which it is in force."""

    policy_revision: Revision


@body_of(resources.ResourceValues)
class ResourceBody(Schema):
    """The values of a resource."""


class NewResource(ResourceBody, kw_only=True):
    """A new resource, enabled by default, of this service (`portcullis`) or of another one for good."""

    service: ServiceName | UnsetType = UNSET


@replacement_of(ResourceBody)
class ResourceReplacement(Schema):
    """All values of a resource."""


@patch_of(ResourceBody)
class ResourcePatch(MergePatch):
    """The values of a resource that change (RFC 7396). `null` removes the description."""


class State(Schema):
    """Whether the resource is enabled; a disabled one counts as not registered."""

    enabled: bool


@filters_of(resources.ResourceFilter, without=["services"])
class ResourceQuery(PageQuery):
    """Filters and order of resources; name (in any case), code and path match by parts."""

    sort: Annotated[str, sort_keys("ResourceSort", resources.SORTS)] = "id"


def answer(context: RequestContext, saved: resources.Resource, policy: Policy) -> SavedResource:
    """Return a saved resource, with its ``ETag`` and the policy that follows."""
    return published_answer(context, SavedResource, saved, policy)


class ResourceList:
    """``/api/resource/list``."""

    def __init__(self, database: Database, live: LivePolicy) -> None:
        self._database = database
        self._live = live

    @needs("system:resource:list", "system:service:resources")
    @named("listResources")
    async def on_get(self, context: RequestContext, query: ResourceQuery) -> Page[Resource]:
        """List resources of the services that the caller may administer."""
        shown = shown_services(context, self._live)
        criteria = replace(query.filter(resources.ResourceFilter), services=shown)
        async with self._database.snapshot() as connection:
            listed = await resources.page(
                connection, criteria, page=query.page, size=query.size, sort=query.sort
            )
        return page_answer(query, listed, Resource)


class Resources:
    """``/api/resource``."""

    def __init__(self, changes: ResourceChanges) -> None:
        self._changes = changes

    @created("/api/resource/{id}")
    @idempotent(answer)
    @needs("system:resource:create", "system:service:resources")
    @dry_run
    @logged("resource", "create", "INSERT")
    @publishes
    @refuses(Conflict)
    @example_body(
        {
            "resourceName": "Read a report",
            "resourceCode": "report.detail",
            "method": "GET",
            "path": "/api/report/{id}",
        }
    )
    @tagged
    @named("createResource")
    async def on_post(self, context: RequestContext, body: NewResource) -> SavedResource:
        """Register a resource.

        From then on its own bindings decide; without any, it is open to everybody who is logged in, or
        closed if it is of another service, until public access to it is given. Callers can't take requests
        from a more general resource without holding one of its codes.
        """
        saved, policy = await self._changes.create(context.user, resources.ResourceValues(**_given(body)))
        return answer(context, saved, policy)


class OneResource:
    """``/api/resource/{id}``."""

    def __init__(self, database: Database, live: LivePolicy, changes: ResourceChanges) -> None:
        self._database = database
        self._live = live
        self._changes = changes

    @needs("system:resource:list", "system:service:resources")
    @refuses(NotFound)
    @tagged
    @named("getResource")
    async def on_get(self, context: RequestContext, id: int) -> Resource:
        """Read a resource."""
        async with self._database.transaction() as connection:
            resource = await resources.read(connection, id)
        require_shown(context, self._live, resource.service)
        answer_tag(context, version_tag(resource.version))
        return Resource.of(resource)

    @needs("system:resource:update", "system:service:resources")
    @dry_run
    @logged("resource", "update", "UPDATE")
    @publishes
    @refuses(NotFound, Conflict, PreconditionFailed)
    @example_body(
        {
            "resourceName": "Read a report",
            "resourceCode": "report.detail",
            "method": "GET",
            "path": "/api/report/{id}",
            "description": None,
            "enabled": True,
        }
    )
    @tagged
    @named("updateResource")
    async def on_put(self, context: RequestContext, body: ResourceReplacement, id: int) -> SavedResource:
        """Replace the values of a resource; its bindings stay.

        Moving, enabling or disabling a bound resource requires one of its codes.
        """
        return answer(context, *await self._edit(context, id, body))

    @needs("system:resource:update", "system:service:resources")
    @dry_run
    @logged("resource", "update", "UPDATE")
    @publishes
    @refuses(NotFound, Conflict, PreconditionFailed)
    @example_body({"description": "Reads a report by its id"})
    @tagged
    @named("patchResource")
    async def on_patch(self, context: RequestContext, body: ResourcePatch, id: int) -> SavedResource:
        """Change some values of a resource, by the rules of a `PUT`."""
        return answer(context, *await self._edit(context, id, body))

    async def _edit(
        self, context: RequestContext, id: int, body: ResourceReplacement | ResourcePatch
    ) -> tuple[resources.Resource, Policy]:
        return await self._changes.update(context.user, id, _given(body), unchanged(context))

    @needs("system:resource:delete", "system:service:resources")
    @dry_run
    @logged("resource", "delete", "DELETE")
    @publishes
    @refuses(NotFound, PreconditionFailed)
    @named("deleteResource")
    async def on_delete(self, context: RequestContext, id: int) -> Published:
        """Delete a resource with its bindings; a bound one requires one of its codes.

        Its requests are then decided by the next matching resource, or count as not registered.
        """
        context.policy = await self._changes.delete(context.user, id, unchanged(context))
        return Published(policy_revision=context.policy.revision)


class ResourceState:
    """``/api/resource/{id}/enabled``."""

    def __init__(self, changes: ResourceChanges) -> None:
        self._changes = changes

    @needs("system:resource:update", "system:service:resources")
    @dry_run
    @logged("resource", "enable", "UPDATE")
    @publishes
    @refuses(NotFound, PreconditionFailed)
    @example_body({"enabled": True})
    @tagged
    @named("setResourceEnabled")
    async def on_put(self, context: RequestContext, body: State, id: int) -> SavedResource:
        """Enable or disable a resource; a bound one requires one of its codes."""
        saved, policy = await self._changes.set_enabled(context.user, id, body.enabled, unchanged(context))
        return answer(context, saved, policy)


def _given(body: Schema) -> dict[str, Any]:
    """Return the values that ``body`` has, if its path can be registered; ValidationFailed else."""
    given = body.given()
    # The change refuses a slash at the end where the service has none.
    if "path" in given and (fault := registered_fault(given["path"], may_end_in_slash=True)):
        raise ValidationFailed(("path", fault))
    return given
