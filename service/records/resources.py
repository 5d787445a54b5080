"""``sys.resource`` and ``sys.action_resource``: registered routes and the Buttons they are bound to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.schema import action_resource, menu, resource

_AT_ONCE: Final = 1000  # rows between two turns of the event loop


@dataclass(frozen=True, slots=True)
class BoundButton:
    """A Button that a resource is bound to."""

    auth_mark: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class BoundResource:
    """An enabled resource and all its bindings, sorted by code, those to disabled Buttons included."""

    resource_id: int
    method: str
    path: str
    buttons: tuple[BoundButton, ...]


async def bound(connection: AsyncConnection) -> list[BoundResource]:
    """Return every enabled resource with its bindings, in the order of their ids.

    Read in parts, so that other requests are served in between.
    """
    statement = (
        select(
            resource.c.id,
            resource.c.method,
            resource.c.path,
            func.array_agg(aggregate_order_by(menu.c.auth_mark, menu.c.auth_mark)),
            func.array_agg(aggregate_order_by(menu.c.enabled, menu.c.auth_mark)),
        )
        .outerjoin(action_resource, action_resource.c.resource_id == resource.c.id)
        .outerjoin(menu, menu.c.id == action_resource.c.menu_id)
        .where(resource.c.enabled)
        .group_by(resource.c.id)
        .order_by(resource.c.id)
    )
    button = cache(BoundButton)  # one object a Button, however often it is bound
    found: list[BoundResource] = []
    async with connection.stream(statement) as rows:
        async for part in rows.partitions(_AT_ONCE):
            found += (
                BoundResource(
                    resource_id,
                    method,
                    path,
                    # An unbound resource has one mark, NULL, from the outer join.
                    tuple(
                        button(mark, enabled)
                        for mark, enabled in zip(marks, states, strict=True)
                        if mark is not None
                    ),
                )
                for resource_id, method, path, marks, states in part
            )
    return found
