import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import NotFound, ValidationFailed
from service.records import bindings, menus


async def id_of(connection: AsyncConnection, table: str, condition: str) -> int:
    selected = await connection.execute(text(f"SELECT id FROM sys.{table} WHERE {condition}"))
    number: int = selected.scalar_one()
    return number


async def button(connection: AsyncConnection, code: str) -> int:
    return await id_of(connection, "menu", f"auth_mark = '{code}'")


async def resource(connection: AsyncConnection, code: str) -> int:
    return await id_of(connection, "resource", f"resource_code = '{code}'")


async def test_binding_buttons_replaces_the_bindings_of_the_resource_and_no_others(
    connection: AsyncConnection,
) -> None:
    target = await resource(connection, "role.list")
    other = await resource(connection, "user.list")
    chosen = [await button(connection, "system:file:list"), await button(connection, "system:role:list")]
    before = await bindings.buttons_of(connection, other)

    await bindings.bind_buttons(connection, target, [*chosen, chosen[0]])

    bound = await bindings.buttons_of(connection, target)
    assert [bound_button.id for bound_button in bound] == sorted(chosen)
    assert {bound_button.auth_mark for bound_button in bound} == {"system:file:list", "system:role:list"}
    assert await bindings.buttons_of(connection, other) == before


async def test_binding_resources_replaces_the_bindings_of_the_button_and_no_others(
    connection: AsyncConnection,
) -> None:
    target = await button(connection, "system:user:create")
    chosen = [await resource(connection, "user.info"), await resource(connection, "user.list")]

    await bindings.bind_resources(connection, target, chosen)

    assert [
        bound_resource.id for bound_resource in await bindings.resources_of(connection, target)
    ] == sorted(chosen)
    marks = {bound_button.auth_mark for bound_button in await bindings.buttons_of(connection, chosen[1])}
    assert marks == {"system:user:create", "system:user:list"}


async def test_binding_nothing_unbinds(connection: AsyncConnection) -> None:
    target = await resource(connection, "role.list")
    await bindings.bind_buttons(connection, target, [])
    assert await bindings.buttons_of(connection, target) == ()


async def test_only_buttons_that_exist_are_bound_and_a_refusal_names_each_place(
    connection: AsyncConnection,
) -> None:
    target = await resource(connection, "role.list")
    page = await id_of(connection, "menu", "name = 'role'")
    good = await button(connection, "system:file:list")
    before = await bindings.buttons_of(connection, target)

    with pytest.raises(ValidationFailed) as refused:
        await bindings.bind_buttons(connection, target, [page, good, 10**12])

    faults = [(fault.field, fault.sentence) for fault in refused.value.faults]
    assert faults == [
        ("menuIds[0]", "This is no Button, and only Buttons are bound"),
        ("menuIds[2]", "There is no such menu"),
    ]
    assert await bindings.buttons_of(connection, target) == before


async def test_only_resources_that_exist_are_bound(connection: AsyncConnection) -> None:
    target = await button(connection, "system:user:create")

    with pytest.raises(ValidationFailed) as refused:
        await bindings.bind_resources(connection, target, [10**12])

    assert refused.value.extra["errors"][0]["field"] == "resourceIds[0]"


async def test_a_menu_is_told_from_a_button(connection: AsyncConnection) -> None:
    menu = await menus.button(connection, await button(connection, "system:file:list"))
    assert (menu.auth_mark, menu.enabled) == ("system:file:list", True)
    with pytest.raises(ValidationFailed):
        await menus.button(connection, await id_of(connection, "menu", "name = 'role'"))
    with pytest.raises(NotFound):
        await menus.button(connection, 10**12)
