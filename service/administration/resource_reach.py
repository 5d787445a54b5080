"""Resources that a caller reaches, and authority to change their demands on authentication.

Callers can't change, or take requests from, resources that they do not reach. A demand applies in addition to
the codes that a resource is bound to. Callers who may bind the resource may set a demand. A lower demand
opens the resource to all holders of its codes, so it requires each code, like unbinding its Buttons. Moving
requests of the resource to a resource with a lower demand requires the same.
"""

from collections.abc import Collection, Iterable
from typing import TypeAlias

from service.administration.delegation import DelegationCheck
from service.administration.older_nodes import require_known
from service.authz.engine.coverage import losing
from service.authz.engine.paths import shape
from service.authz.engine.resource_index import comparable
from service.authz.engine.rules import ASSURANCE
from service.errors import Conflict
from service.kernel.assurance import opens_more
from service.kernel.core_sentences import sentence
from service.kernel.services import NO_DEMAND, Service
from service.records import bindings, resources
from service.records.database.transactions import Connection
from service.records.resources import Resource, ResourceValues

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
        why = sentence("no_code_of_resource_held", resource=resource_id)
        await check.require_any(bound, why)
    return codes


async def losing_to(connection: Connection, router: Service, route: Route, *, but: int = 0) -> list[int]:
    """Return the ids of the resources that lose requests to an enabled one of ``route``, ``but`` left out."""
    method, path = route
    beside = await resources.overlapping_paths(connection, router.name, method, path, but=but)
    ids = {comparable(router, other): resource_id for other, resource_id in beside.items()}
    return [ids[lost] for lost in losing(comparable(router, path), ids)]


async def require_free(connection: Connection, router: Service, route: Route, *, but: int = 0) -> None:
    """Check that the router takes no other registered path, disabled ones too, for that of ``route``.

    Conflict else. For a router that distinguishes all paths, the database makes this check.
    """
    if not (router.ignore_case or router.ignore_trailing_slash):
        return
    key = _requests(router, *route)
    for other in await resources.of_service(connection, router.name):
        if other.id != but and _requests(router, other.method, other.path) == key:
            raise Conflict(
                sentence("same_path_for_router", object=other.object, resource=other.id, service=router.name),
                rule="unique",
                field="path",
                resourceId=other.id,
            )


async def require_apart(connection: Connection, router: Service) -> None:
    """Check that ``router`` distinguishes all resources of its service, disabled ones too; Conflict else.

    A change of the router must not cause a collision that ``require_free`` refuses.
    """
    first: dict[Route, Resource] = {}
    for resource in await resources.of_service(connection, router.name):
        other = first.setdefault(_requests(router, resource.method, resource.path), resource)
        if other is not resource:
            raise Conflict(
                sentence(
                    "same_paths_for_router",
                    object=other.object,
                    resource=other.id,
                    other=resource.object,
                    other_resource=resource.id,
                    service=router.name,
                ),
                rule="unique",
                resourceIds=[other.id, resource.id],
            )


def _requests(router: Service, method: str, path: str) -> Route:
    """Return a key that is equal for routes that ``router`` takes for one."""
    return method, comparable(router, shape(path))


_WHY = sentence("resource_not_held")


async def require_new(connection: Connection, check: DelegationCheck, values: ResourceValues) -> None:
    """Check that the caller may register a resource with the demand of ``values``: refusals as below."""
    if values.demand != NO_DEMAND:
        check.require_service("bind", values.service)
        await require_known(connection, ASSURANCE)


async def require_change(
    connection: Connection, check: DelegationCheck, before: Resource, values: ResourceValues
) -> None:
    """Check that the caller may give a resource the demand of ``values``, if that is another one.

    Raises PermissionDenied, and Conflict as ``require_known``.
    """
    if values.demand == before.demand:
        return
    check.require_service("bind", before.service)
    await require_reach(connection, check, [before.id])
    await require_lowering(connection, check, [before], values.demand)
    if values.demand != NO_DEMAND:
        await require_known(connection, ASSURANCE)


async def require_lowering(
    connection: Connection,
    check: DelegationCheck,
    before: Iterable[Resource],
    after: tuple[str, ...] = NO_DEMAND,
) -> None:
    """Check that requests to the resources ``before`` may come to demand ``after``, where that is less.

    PermissionDenied unless the caller may bind them, and holds all codes that they are bound to.
    """
    lowered = {resource.id: resource for resource in before if opens_more(resource.demand, after)}
    if not lowered:
        return
    for service in sorted({resource.service for resource in lowered.values()}):
        check.require_service("bind", service)
    codes = await bindings.codes_of(connection, lowered)
    await check.require({code for bound in codes.values() for code in bound}, _WHY)


async def require_taking(
    connection: Connection,
    check: DelegationCheck,
    router: Service,
    values: ResourceValues,
    *,
    but: int = 0,
) -> None:
    """Check that the caller reaches every resource that would lose requests to an enabled one of ``values``.

    The most specific resource decides a request, so a new one could open what a more general one guards, or
    demand less. Paths are compared as the router of the service does. ``but`` is the resource that moves
    there. Raises PermissionDenied.
    """
    route: Route = (values.method, values.path)
    losing = await losing_to(connection, router, route, but=but)
    await require_reach(connection, check, losing)
    if losing:
        demanding = await resources.matching(connection, ids=losing)
        await require_lowering(connection, check, demanding, values.demand)
