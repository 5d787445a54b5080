"""Table of roles and requests, and all routes with their guards: ``/api/policy/matrix``, ``coverage``."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from service.authz.engine.concurrency import ConcurrencyLimit
from service.authz.engine.policy import Policy, is_registered
from service.authz.engine.rules import ANYONE, LOGIN, RESOURCE
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.sync import guard_of, unrouted
from service.errors import RevisionUntrusted
from service.features.explain.matrix import Matrix
from service.features.explain.policy_layers import At, Name, RoleCode, Words
from service.features.explain.policy_questions import WITHIN, PolicyQuestion
from service.laboratory.analysis.impact import Standing
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, needs
from service.web.messages.schema import Page, PageQuery, PartQuery, Revision, Schema

if TYPE_CHECKING:  # commands import this module, and need no guard
    from service.web.requests.routes import Routes


class MatrixRole(Schema):
    """A role that suffices to pass; `by` are its codes that pass a line, empty if a login is enough."""

    role_code: RoleCode
    by: Annotated[list[str], Meta(examples=[["system:*"]])]


class MatrixRequest(Schema):
    """A request, or an object behind its layer such as `request role auditor`, and the roles that pass it.

    `visitors`: everybody passes, logged in or not. `anyLogin`: every logged-in user passes. `assurance` are
    the weakest words about authentication, any one of which is also needed.
    """

    object: Name
    visitors: bool
    any_login: bool
    assurance: Words
    roles: list[MatrixRole]


class MatrixQuery(PageQuery):
    """Which requests are wanted, by a part of their method and path in any case, and about which roles."""

    object: (
        Annotated[
            str, Meta(max_length=2048, examples=["delete /api/user"], description="A part of the request.")
        ]
        | None
    ) = None
    role_code: (
        Annotated[
            list[RoleCode],
            Meta(
                max_length=200,
                description="Only these roles, separated by commas; unknown ones are ignored.",
            ),
        ]
        | None
    ) = None
    at: At | None = None


def matrix_answer(standing: Standing, query: MatrixQuery) -> Page[MatrixRequest]:
    """Return the page of ``query``; a large policy takes a while."""
    matrix = Matrix(standing, query.role_code)
    part = (query.object or "").lower()
    requests = [request for request in matrix.asked if part in request.name.lower()]
    items = [MatrixRequest.of(row) for row in matrix.rows(query.part(requests))]
    return Page(items=items, page=query.page, size=query.size, total=len(requests))


class RoleMatrix(PolicyQuestion, at="/api/policy/matrix"):
    @needs("system:policy:read", name="getRoleMatrix", refuses=[RevisionUntrusted])
    async def on_get(self, context: RequestContext, query: MatrixQuery) -> Page[MatrixRequest]:
        """List requests by path and method, each with the roles that pass it.

        The line decides who may request a role, or who approves.
        """
        context.policy = self.live.current
        async with self.concurrency.turn():
            async with self.database.snapshot(within=WITHIN) as connection:
                standing = await self._standing(context, connection, query.at)
            return await self.concurrency.computed(matrix_answer, standing, query)


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

    `unrouted` are the resources of the page, `unroutedTotal` is the number of all.
    """

    revision: Revision
    routes: list[RouteGuard]
    unrouted: Annotated[list[str], Meta(examples=[["GET /api/report/{id}"]])]
    unrouted_total: Annotated[int, Meta(ge=0, examples=[1])]


class PolicyCoverage(Responders, at="/api/policy/coverage"):
    def __init__(self, live: LivePolicy, routes: "Routes", concurrency: ConcurrencyLimit) -> None:
        self.live = live
        self._routes = routes
        self.concurrency = concurrency

    @needs("system:policy:read", name="getPolicyCoverage")
    async def on_get(self, context: RequestContext, query: PartQuery) -> Coverage:
        """Read all routes with their guards, and the resources without a route."""
        context.policy = policy = self.live.current
        guards = [
            _guard(policy, operation.method, operation.template) for operation in self._routes.operations
        ]
        guards += [
            RouteGuard(operation.method, operation.template, "outside", [], None, [])
            for operation in self._routes.outside
        ]
        registered = filter(is_registered, policy.rules.objects(RESOURCE))
        routes = [operation.object for operation in self._routes.operations]
        # Comparing a hundred thousand resources takes a while.
        async with self.concurrency.turn():
            lost = await self.concurrency.computed(unrouted, registered, routes)
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
