"""``sys.action_resource``: which Buttons open which resources.

Callers that change a binding hold ``policy_revisions.lock``.
"""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Final, NamedTuple

from sqlalchemy import Column, Text, cast, delete, func, insert, select, text
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import ValidationFailed
from service.kernel.assurance import words_of
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.core_sentences import sentence
from service.kernel.services import BoundResource
from service.records.menus import BUTTON, Button
from service.records.resources import RESOURCE, Resource
from service.records.schema.rights import action_resource, menu, resource

_AT_ONCE: Final = 100  # rows between two pauses of the event loop: half a millisecond


class BoundButton(NamedTuple):
    """A Button that a resource is bound to."""

    auth_mark: str
    enabled: bool


async def bound(connection: AsyncConnection) -> list[BoundResource]:
    """Return every enabled resource with its bindings, in no order.

    Read in parts, so that other requests are served in between.
    """
    marks = select(menu.c.id, menu.c.auth_mark, menu.c.enabled).where(menu.c.auth_mark.is_not(None))
    buttons = {row[0]: BoundButton(row[1], row[2]) for row in await connection.execute(marks)}
    # One text instead of an array: a hundred thousand lists would keep the garbage collector busy.
    ids = func.string_agg(
        cast(action_resource.c.menu_id, Text), aggregate_order_by(text("' '"), action_resource.c.menu_id)
    ).label("ids")
    each = select(action_resource.c.resource_id, ids).group_by(action_resource.c.resource_id).subquery()
    statement = (
        select(
            *(resource.c.method, resource.c.path, each.c.ids),
            *(resource.c.service, resource.c.assurance, resource.c.services),
        )
        .outerjoin(each, each.c.resource_id == resource.c.id)
        .where(resource.c.enabled)
    )

    @cache  # many resources are bound to the same Buttons
    def named(menu_ids: str) -> tuple[BoundButton, ...]:
        return tuple(sorted(buttons[menu_id] for menu_id in map(int, menu_ids.split()) if menu_id in buttons))

    demanded = cache(words_of)  # and have one of few demands
    resources: list[BoundResource] = []
    pauses = CooperativeYield()
    async with connection.stream(statement.execution_options(yield_per=_AT_ONCE)) as rows:
        async for part in rows.partitions():
            resources += [
                BoundResource(method, path, named(ids or ""), of, demanded(demand, services=services))
                for method, path, ids, of, demand, services in part
            ]
            await pauses.give_way()
    return resources


async def every(connection: AsyncConnection) -> list[tuple[int, int]]:
    """Return all bindings, as ids of a resource and of a Button."""
    statement = select(action_resource.c.resource_id, action_resource.c.menu_id)
    return [(row.resource_id, row.menu_id) for row in await connection.execute(statement)]


async def buttons_of(connection: AsyncConnection, resource_id: int) -> tuple[Button, ...]:
    """Return the Buttons that a resource is bound to, by id."""
    statement = (
        BUTTON.select.join(action_resource, action_resource.c.menu_id == menu.c.id)
        .where(action_resource.c.resource_id == resource_id)
        .order_by(menu.c.id)
    )
    return tuple(await BUTTON.all(connection, statement))


async def codes_of(connection: AsyncConnection, resource_ids: Collection[int]) -> dict[int, list[str]]:
    """Return, by id, the sorted codes that resources are bound to, those of disabled Buttons included.

    A resource without bindings has no entry.
    """
    statement = (
        select(
            action_resource.c.resource_id,
            func.array_agg(aggregate_order_by(menu.c.auth_mark, menu.c.auth_mark)),
        )
        .join(menu, menu.c.id == action_resource.c.menu_id)
        .where(action_resource.c.resource_id.in_(list(resource_ids)))
        .group_by(action_resource.c.resource_id)
        .order_by(action_resource.c.resource_id)
    )
    return {row[0]: row[1] for row in await connection.execute(statement)}


async def disabled_marks(
    connection: AsyncConnection, service: str, method: str, path: str
) -> tuple[str, ...]:
    """Return the codes of the disabled Buttons bound to the resource of that service, method and path."""
    statement = (
        select(menu.c.auth_mark)
        .join(action_resource, action_resource.c.menu_id == menu.c.id)
        .join(resource, resource.c.id == action_resource.c.resource_id)
        .where(resource.c.service == service, resource.c.method == method, resource.c.path == path)
        .where(~menu.c.enabled)
        .order_by(menu.c.auth_mark)
    )
    return tuple((await connection.execute(statement)).scalars())


async def resources_of(connection: AsyncConnection, menu_id: int) -> tuple[Resource, ...]:
    """Return the resources that a Button opens, by id."""
    statement = (
        RESOURCE.select.join(action_resource, action_resource.c.resource_id == resource.c.id)
        .where(action_resource.c.menu_id == menu_id)
        .order_by(resource.c.id)
    )
    return tuple(await RESOURCE.all(connection, statement))


async def resources_of_any(connection: AsyncConnection, menu_ids: Collection[int]) -> list[Resource]:
    """Return the resources that are bound to one of these Buttons, disabled ones too, by id."""
    bound = select(action_resource.c.resource_id).where(action_resource.c.menu_id.in_(menu_ids))
    return await RESOURCE.where(connection, resource.c.id.in_(bound), order=resource.c.id)


async def bind_buttons(connection: AsyncConnection, resource_id: int, menu_ids: Sequence[int]) -> None:
    """Replace the Buttons of an existing resource.

    ValidationFailed for unknown ids and for Menus; it names their places in the list.
    """
    rows = await connection.execute(select(menu.c.id, menu.c.menu_type).where(menu.c.id.in_(menu_ids)))
    types = {row.id: row.menu_type for row in rows}
    faults = [
        (
            f"menuIds[{place}]",
            sentence("not_a_button") if menu_id in types else sentence("no_such_menu"),
        )
        for place, menu_id in enumerate(menu_ids)
        if types.get(menu_id) != "Button"
    ]
    if faults:
        raise ValidationFailed(*faults)
    await _replace(connection, action_resource.c.resource_id, resource_id, menu_ids)


async def bind_resources(connection: AsyncConnection, menu_id: int, resource_ids: Sequence[int]) -> None:
    """Replace the resources of an existing Button.

    ValidationFailed for unknown ids; it names their places in the list.
    """
    rows = await connection.execute(select(resource.c.id).where(resource.c.id.in_(resource_ids)))
    known = set(rows.scalars())
    faults = [
        (f"resourceIds[{place}]", sentence("no_such_resource"))
        for place, resource_id in enumerate(resource_ids)
        if resource_id not in known
    ]
    if faults:
        raise ValidationFailed(*faults)
    await _replace(connection, action_resource.c.menu_id, menu_id, resource_ids)


async def _replace(
    connection: AsyncConnection, side: Column[int], side_id: int, other_ids: Collection[int]
) -> None:
    other = action_resource.c.menu_id if side.name == "resource_id" else action_resource.c.resource_id
    await connection.execute(delete(action_resource).where(side == side_id))
    rows = [{side.name: side_id, other.name: other_id} for other_id in sorted(set(other_ids))]
    if rows:
        await connection.execute(insert(action_resource), rows)
