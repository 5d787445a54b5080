"""Public access to other services, without a permission code: ``/api/opening``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from msgspec import Meta

from service.administration.openings import OpeningChanges
from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.endpoints.shown_services import require_shown, shown_services
from service.errors import Conflict, NotFound
from service.kernel.value_rules import ServiceName
from service.records import openings
from service.records.database.transactions import Database
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
)
from service.web.messages.schema import (
    SEVERAL,
    Id,
    Moment,
    Page,
    PageQuery,
    Published,
    Revision,
    Schema,
    moment,
    page_answer,
    sort_keys,
)

OpenTo = Annotated[
    openings.OpenTo, Meta(description="`@login`: everybody who is logged in. `@anyone`: everybody.")
]


class ServiceOpening(Schema):
    """A rule of public access: `object` is a resource of the service, or what is not registered there."""

    id: Id
    service: ServiceName
    object: Annotated[str, Meta(examples=["orders @unregistered"])]
    resource_id: Id | None
    code: OpenTo
    create_time: Moment


class SavedServiceOpening(ServiceOpening):
    """The saved rule of public access, and the policy revision from which it is in force."""

    policy_revision: Revision


class OpeningBody(Schema, kw_only=True):
    """What to give public access to: a resource, or, without `resourceId`, what is not registered there."""

    service: ServiceName
    resource_id: Id | None = None
    code: OpenTo


class OpeningQuery(PageQuery):
    """Filters and order of rules of public access."""

    service: ServiceName | None = None
    code: Annotated[list[OpenTo], SEVERAL] | None = None
    sort: Annotated[str, sort_keys("OpeningSort", openings.SORTS)] = "id"


def opened(context: RequestContext, saved: openings.Opening, policy: Policy) -> SavedServiceOpening:
    """Return a saved rule of public access and the policy that follows."""
    context.policy = policy
    return SavedServiceOpening(
        saved.id,
        saved.service,
        saved.object,
        saved.resource_id,
        saved.code,
        moment(saved.create_time),
        policy.revision,
    )


class OpeningList:
    """``/api/opening/list``."""

    def __init__(self, database: Database, live: LivePolicy) -> None:
        self._database = database
        self._live = live

    @needs("system:resource:list", "system:service:resources")
    @named("listServiceOpenings")
    async def on_get(self, context: RequestContext, query: OpeningQuery) -> Page[ServiceOpening]:
        """List rules of public access to services that the caller may administer; disabled resources too."""
        shown = shown_services(context, self._live)
        criteria = replace(query.filter(openings.OpeningFilter), services=shown)
        async with self._database.snapshot() as connection:
            listed = await openings.page(
                connection, criteria, page=query.page, size=query.size, sort=query.sort
            )
        return page_answer(query, listed, ServiceOpening)


class Openings:
    """``/api/opening``."""

    def __init__(self, changes: OpeningChanges) -> None:
        self._changes = changes

    @created("/api/opening/{id}")
    @idempotent(opened)
    @needs("system:resource:open", "system:service:resources")
    @dry_run
    @logged("opening", "create", "INSERT")
    @publishes
    @refuses(Conflict)
    @example_body({"service": "orders", "code": "@login"})
    @named("createServiceOpening")
    async def on_post(self, context: RequestContext, body: OpeningBody) -> SavedServiceOpening:
        """Give public access to a resource of another service, or to what is not registered there.

        Callers must hold one code of a bound resource.
        """
        saved, policy = await self._changes.create(context.user, body.service, body.resource_id, body.code)
        return opened(context, saved, policy)


class OneOpening:
    """``/api/opening/{id}``."""

    def __init__(self, database: Database, live: LivePolicy, changes: OpeningChanges) -> None:
        self._database = database
        self._live = live
        self._changes = changes

    @needs("system:resource:list", "system:service:resources")
    @refuses(NotFound)
    @named("getServiceOpening")
    async def on_get(self, context: RequestContext, id: int) -> ServiceOpening:
        """Read a rule of public access."""
        async with self._database.transaction() as connection:
            opening = await openings.read(connection, id)
        require_shown(context, self._live, opening.service)
        return ServiceOpening.of(opening)

    @needs("system:resource:open", "system:service:resources")
    @dry_run
    @logged("opening", "delete", "DELETE")
    @publishes
    @refuses(NotFound)
    @named("deleteServiceOpening")
    async def on_delete(self, context: RequestContext, id: int) -> Published:
        """Delete a rule of public access: from then on bound Buttons decide, or nobody passes."""
        context.policy = await self._changes.delete(context.user, id)
        return Published(policy_revision=context.policy.revision)
