from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import NotFound, ValidationFailed
from service.records import bindings, menus

pytestmark = pytest.mark.anyio


async def id_of(connection: AsyncConnection, table: str, condition: str) -> int:
    found = await connection.execute(text(f"SELECT id FROM sys.{table} WHERE {condition}"))
    number: int = found.scalar_one()
    return number


async def button(connection: AsyncConnection, code: str) -> int:
    return await id_of(connection, "menu", f"auth_mark = '{code}'")


async def resource(connection: AsyncConnection, code: str) -> int:
    return await id_of(connection, "resource", f"resource_code = '{code}'")


async def test_binding_buttons_replaces_the_bindings_of_the_resource_and_no_others(
    connection: AsyncConnection,
) -> None:
    wanted = await resource(connection, "role.list")
    other = await resource(connection, "user.list")
    chosen = [await button(connection, "system:file:list"), await button(connection, "system:role:list")]
    before = await bindings.buttons_of(connection, other)

    await bindings.bind_buttons(connection, wanted, [*chosen, chosen[0]])

    found = await bindings.buttons_of(connection, wanted)
    assert [one.id for one in found] == sorted(chosen)
    assert {one.auth_mark for one in found} == {"system:file:list", "system:role:list"}
    assert await bindings.buttons_of(connection, other) == before


async def test_binding_resources_replaces_the_bindings_of_the_button_and_no_others(
    connection: AsyncConnection,
) -> None:
    wanted = await button(connection, "system:user:create")
    chosen = [await resource(connection, "user.info"), await resource(connection, "user.list")]

    await bindings.bind_resources(connection, wanted, chosen)

    assert [one.id for one in await bindings.resources_of(connection, wanted)] == sorted(chosen)
    marks = {one.auth_mark for one in await bindings.buttons_of(connection, chosen[1])}
    assert marks == {"system:user:create", "system:user:list"}


async def test_binding_nothing_unbinds(connection: AsyncConnection) -> None:
    wanted = await resource(connection, "role.list")
    await bindings.bind_buttons(connection, wanted, [])
    assert await bindings.buttons_of(connection, wanted) == ()


async def test_only_buttons_that_exist_are_bound_and_a_refusal_names_each_place(
    connection: AsyncConnection,
) -> None:
    wanted = await resource(connection, "role.list")
    page = await id_of(connection, "menu", "name = 'role'")
    good = await button(connection, "system:file:list")
    before = await bindings.buttons_of(connection, wanted)

    with pytest.raises(ValidationFailed) as refused:
        await bindings.bind_buttons(connection, wanted, [page, good, 10**12])

    assert refused.value.extra["errors"] == [
        {"field": "menuIds[0]", "message": "This is no Button, and only Buttons are bound"},
        {"field": "menuIds[2]", "message": "There is no such menu"},
    ]
    assert await bindings.buttons_of(connection, wanted) == before


async def test_only_resources_that_exist_are_bound(connection: AsyncConnection) -> None:
    wanted = await button(connection, "system:user:create")

    with pytest.raises(ValidationFailed) as refused:
        await bindings.bind_resources(connection, wanted, [10**12])

    assert refused.value.extra["errors"][0]["field"] == "resourceIds[0]"


async def test_a_menu_is_told_from_a_button(connection: AsyncConnection) -> None:
    found = await menus.button(connection, await button(connection, "system:file:list"))
    assert (found.auth_mark, found.enabled) == ("system:file:list", True)
    with pytest.raises(ValidationFailed):
        await menus.button(connection, await id_of(connection, "menu", "name = 'role'"))
    with pytest.raises(NotFound):
        await menus.button(connection, 10**12)
