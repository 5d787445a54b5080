"""Callers can't change, or take requests from, resources that they do not reach."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from service.administration.delegation import DelegationCheck
from service.authz.lint.overlap import losing
from service.records.database.transactions import Connection
from service.records.resources import bindings, resources


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


async def require_taking(
    connection: Connection, check: DelegationCheck, method: str, path: str, *, but: int = 0
) -> None:
    """Check that the caller reaches every resource that would lose requests to an enabled one of this path.

    The most specific resource decides a request, so a new one could open what a more general one guards.
    ``but`` is the resource that moves to the path. Raises PermissionDenied.
    """
    ids: Mapping[str, int] = await resources.paths_beside(connection, method, path, but=but)
    await require_reach(connection, check, [ids[lost] for lost in losing(path, ids)])
