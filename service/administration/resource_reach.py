"""Callers can't change, or take requests from, resources that they do not reach."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from service.administration.delegation import DelegationCheck
from service.authz.engine.paths import shape
from service.authz.engine.resource_index import comparable
from service.authz.lint.overlap import losing
from service.errors import Conflict
from service.kernel.services import Service
from service.records import bindings, resources
from service.records.database.transactions import Connection
from service.records.resources import Resource

Route: TypeAlias = tuple[str, str]
"""Method and path of a resource."""


async def require_reach(
    connection: Connection, check: DelegationCheck, resource_ids: Collection[int]
) -> dict[int, list[str]]:
    """Check that the caller reaches each resource: it is bound to nothing, or to a code that is held.

    Bindings to disabled Buttons and of disabled resources count. Returns, by id, the codes to which resources
    are bound. Raises PermissionDenied with the alternative codes, any one of which would be enough.
    """
    codes = await bindings.codes_of(connection, resource_ids)
    for resource_id, bound in codes.items():
        why = f"Resource {resource_id} is bound to permissions of which you hold none"
        await check.require_any(bound, why)
    return codes


async def losing_to(connection: Connection, router: Service, route: Route, *, but: int = 0) -> list[int]:
    """Return the ids of the resources that lose requests to an enabled one of ``route``, ``but`` left out."""
    method, path = route
    beside = await resources.paths_beside(connection, router.name, method, path, but=but)
    ids = {comparable(router, other): resource_id for other, resource_id in beside.items()}
    return [ids[lost] for lost in losing(comparable(router, path), ids)]


async def require_free(connection: Connection, router: Service, route: Route, *, but: int = 0) -> None:
    """Check that the router takes no other registered path, disabled ones too, for that of ``route``.

    Conflict else. Where a router tells all paths apart, the database does it.
    """
    if not (router.ignore_case or router.ignore_trailing_slash):
        return
    key = _requests(router, *route)
    for other in await resources.of_service(connection, router.name):
        if other.id != but and _requests(router, other.method, other.path) == key:
            raise Conflict(
                f"{other.object} (resource {other.id}) is the same path for the router of {router.name}",
                rule="unique",
                field="path",
                resourceId=other.id,
            )


async def require_apart(connection: Connection, router: Service) -> None:
    """Check that ``router`` tells all resources of its service apart, disabled ones too; Conflict else.

    What ``require_free`` refuses must not come about by another router either.
    """
    first: dict[Route, Resource] = {}
    for resource in await resources.of_service(connection, router.name):
        other = first.setdefault(_requests(router, resource.method, resource.path), resource)
        if other is not resource:
            raise Conflict(
                f"{other.object} (resource {other.id}) and {resource.object} (resource {resource.id}) "
                f"would be the same path for the router of {router.name}",
                rule="unique",
                resourceIds=[other.id, resource.id],
            )


def _requests(router: Service, method: str, path: str) -> Route:
    """Return a key that is equal for routes that ``router`` takes for one."""
    return method, comparable(router, shape(path))
