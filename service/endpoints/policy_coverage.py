"""All routes with their guards: ``/api/policy/coverage``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from service.authz.engine.policy import Policy, is_registered
from service.authz.engine.rules import ANYONE, LOGIN, RESOURCE
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.sync import guard_of, unrouted
from service.authz.review.concurrency import ConcurrencyLimit
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import named, needs
from service.web.messages.schema import PartQuery, Revision, Schema
from service.web.requests.routes import Routes

Guard = Literal["public", "login", "permission", "outside"]


class RouteGuard(Schema):
    """A route and its checks.

    `guard` summarises `required`, the codes of the endpoint layer; `outside` routes have no guard. `resource`
    decides in the resource layer, by any one of `resourceCodes`.
    """

    method: Annotated[str, Meta(examples=["GET"])]
    path: Annotated[str, Meta(examples=["/api/role/list"])]
    guard: Guard
    required: Annotated[list[str], Meta(examples=[["system:role:list"]])]
    resource: Annotated[str, Meta(examples=["GET /api/role/list"])] | None
    resource_codes: Annotated[list[str], Meta(examples=[["system:role:list"]])]


class Coverage(Schema):
    """All routes, and the enabled resources that match no request of any route.

    `unrouted` are those of the page, `unroutedTotal` says how many there are.
    """

    revision: Revision
    routes: list[RouteGuard]
    unrouted: Annotated[list[str], Meta(examples=[["GET /api/report/{id}"]])]
    unrouted_total: Annotated[int, Meta(ge=0, examples=[1])]


class PolicyCoverage:
    """``/api/policy/coverage``."""

    def __init__(self, live: LivePolicy, routes: Routes, concurrency: ConcurrencyLimit) -> None:
        self._live = live
        self._routes = routes
        self._concurrency = concurrency

    @needs("system:policy:read")
    @named("getPolicyCoverage")
    async def on_get(self, context: RequestContext, query: PartQuery) -> Coverage:
        """Read all routes with their guards, and the resources that guard nothing."""
        context.policy = policy = self._live.current
        guards = [
            _guard(policy, operation.method, operation.template) for operation in self._routes.operations
        ]
        guards += [
            RouteGuard(operation.method, operation.template, "outside", [], None, [])
            for operation in self._routes.outside
        ]
        registered = filter(is_registered, policy.rules.objects(RESOURCE))
        routes = [operation.object for operation in self._routes.operations]
        # A hundred thousand resources take a while to compare.
        async with self._concurrency.turn():
            lost = await self._concurrency.computed(unrouted, registered, routes)
        return Coverage(policy.revision, guards, list(query.part(lost)), len(lost))


def _guard(policy: Policy, method: str, template: str) -> RouteGuard:
    guard = guard_of(policy, method, template)
    words: dict[tuple[str, ...], Guard] = {(ANYONE,): "public", (LOGIN,): "login"}
    return RouteGuard(
        method,
        template,
        words.get(guard.required, "permission"),
        list(guard.required),
        guard.resource,
        list(guard.resource_codes),
    )
