"""Which roles pass which requests: ``/api/policy/matrix``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.authz.review.impact import Standing
from service.authz.review.matrix import Matrix
from service.authz.review.sources import standing_of
from service.endpoints.policy_layers import Name, RoleCode, Words
from service.endpoints.policy_who_may import WITHIN, PolicyQuestion
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import named, needs
from service.web.messages.schema import Page, PageQuery, Schema


class MatrixRole(Schema):
    """A role that passes by itself; `by` are its codes that open a line, none where a login is enough."""

    role_code: RoleCode
    by: Annotated[list[str], Meta(examples=[["system:*"]])]


class MatrixRequest(Schema):
    """A request and the roles that pass it.

    `visitors`: everybody passes, logged in or not. `anyLogin`: everybody who is logged in. `assurance` are
    the weakest words about authentication, any one of which is needed beside that.
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
            str, Meta(max_length=256, examples=["delete /api/user"], description="A part of the request.")
        ]
        | None
    ) = None
    role_code: (
        Annotated[
            list[RoleCode],
            Meta(
                max_length=200,
                description="Only these roles, separated by commas; unknown ones have no part.",
            ),
        ]
        | None
    ) = None


def matrix_answer(standing: Standing, query: MatrixQuery) -> Page[MatrixRequest]:
    """Return the page of ``query``; a large policy takes a while."""
    matrix = Matrix(standing, query.role_code)
    part = (query.object or "").lower()
    requests = [request for request in matrix.requests if part in request.name.lower()]
    items = [MatrixRequest.of(row) for row in matrix.rows(query.part(requests))]
    return Page(items=items, page=query.page, size=query.size, total=len(requests))


class RoleMatrix(PolicyQuestion):
    """``/api/policy/matrix``."""

    @needs("system:policy:read")
    @named("getRoleMatrix")
    async def on_get(self, context: RequestContext, query: MatrixQuery) -> Page[MatrixRequest]:
        """List requests by path and method, each with the roles that pass it."""
        context.policy = policy = self._live.current
        async with self._concurrency.turn():
            async with self._database.snapshot(within=WITHIN) as connection:
                standing = await standing_of(policy, connection)
            return await self._concurrency.computed(matrix_answer, standing, query)
