"""``sys.opening``: what administrators have opened in other services without a permission code.

Callers that change one hold ``policy_revisions.lock``.
"""

from __future__ import annotations

from sqlalchemy import case, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.bound_resource import PublishedOpening
from service.kernel.services import object_of
from service.records.schema import opening, resource


async def published(connection: AsyncConnection) -> list[PublishedOpening]:
    """Return the openings that the policy has lines for: not those of disabled resources."""
    route = case(
        (opening.c.resource_id.is_(None), literal("@unregistered")),
        else_=resource.c.method + " " + resource.c.path,
    )
    service = case((opening.c.resource_id.is_(None), opening.c.service), else_=resource.c.service)
    statement = (
        select(service, route, opening.c.code)
        .select_from(opening.outerjoin(resource, resource.c.id == opening.c.resource_id))
        .where(opening.c.resource_id.is_(None) | resource.c.enabled)
        .order_by(opening.c.id)
    )
    return [
        PublishedOpening(object_of(name, told), code)
        for name, told, code in await connection.execute(statement)
    ]
