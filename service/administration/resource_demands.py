"""Who may change how strongly somebody must have authenticated to touch a resource.

A demand holds beside the codes that a resource is bound to. Who may bind the resource may set one. Lowering
it opens the resource to all who hold one of its codes: as unbinding its Buttons, it asks for each of them. So
does what hands requests of the resource to one that demands less.
"""

from __future__ import annotations

from collections.abc import Iterable

from service.administration.delegation import DelegationCheck
from service.administration.resource_reach import Route, losing_to, require_reach
from service.authz.engine.rules import ASSURANCE
from service.errors import Conflict
from service.kernel.assurance import opens_more
from service.kernel.services import NO_DEMAND, Service
from service.records import bindings, policy_workers, resources
from service.records.database.transactions import Connection
from service.records.resources import Resource, ResourceValues

_WHY = "The demand is on a resource that is bound to permissions that you do not hold"


async def require_new(connection: Connection, check: DelegationCheck, values: ResourceValues) -> None:
    """Check that the caller may register a resource with the demand of ``values``: refusals as below."""
    if values.demand != NO_DEMAND:
        check.require_service("bind", values.service)
        await require_known(connection)


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
        await require_known(connection)


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


async def require_known(connection: Connection) -> None:
    """Check that every worker that reports asks for demands; Conflict else: others would not ask."""
    for worker in await policy_workers.present(connection):
        if ASSURANCE not in worker.layers:
            raise Conflict(
                f"{worker.worker} is of a version that asks for no demand on authentication: change all "
                "nodes to a later one first",
                rule="older_nodes",
            )
