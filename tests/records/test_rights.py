"""What roles give, and could give, on a real database."""

import pytest
from sqlalchemy import text

from service.records import accounts, role_rights
from service.records.database.transactions import Connection
from tests.support.seeded import create_user


async def execute(connection: Connection, statement: str, **values: object) -> None:
    await connection.execute(text(statement), values)


async def id_of(connection: Connection, role_code: str) -> int:
    selected = await connection.execute(
        text("SELECT id FROM sys.role WHERE role_code = :code"), {"code": role_code}
    )
    number: int = selected.scalar_one()
    return number


async def test_reach_counts_disabled_roles_and_disabled_buttons_and_rights_do_not(
    connection: Connection,
) -> None:
    user_id = await create_user(connection, "heron", "x", "super")
    assert (await role_rights.of(connection, user_id)).permissions == ("*",)
    await execute(connection, "UPDATE sys.role SET enabled = false WHERE role_code = 'super'")
    await execute(connection, "UPDATE sys.menu SET enabled = false WHERE auth_mark = '*'")

    assert (await role_rights.of(connection, user_id)).permissions == ()
    assert await role_rights.reach_of_users(connection, [user_id]) == {"*"}
    assert await role_rights.reach_of_roles(connection, [await id_of(connection, "super")]) == {"*"}


async def test_a_disabled_user_has_no_standing(connection: Connection) -> None:
    user_id = await create_user(connection, "heron", "x", "super")
    assert await role_rights.of_enabled_user(connection, user_id) == role_rights.Rights(("super",), ("*",))
    await accounts.set_status(connection, user_id, "disabled")
    assert await role_rights.of_enabled_user(connection, user_id) is None
    assert await role_rights.of_enabled_user(connection, 10**9) is None


async def test_holders_of_a_menu_are_all_users_of_its_roles(connection: Connection) -> None:
    first = await create_user(connection, "heron", "x", "super")
    await create_user(connection, "stork", "x")
    selected = await connection.execute(text("SELECT id FROM sys.menu WHERE auth_mark = '*'"))
    button = selected.scalar_one()
    assert await role_rights.codes_of_menus(connection, [button]) == {"*"}
    assert first in await role_rights.holders_of_menus(connection, [button])
    assert first in await role_rights.in_role(connection, await id_of(connection, "super"))
    assert await role_rights.holders_of_menus(connection, []) == []


@pytest.mark.parametrize(
    "loss",
    [
        "UPDATE sys.user SET status = 'disabled'",
        "UPDATE sys.role SET enabled = false WHERE role_code = 'super'",
        "UPDATE sys.menu SET enabled = false WHERE auth_mark = '*'",
        "DELETE FROM sys.user_role",
    ],
)
async def test_an_administrator_is_an_enabled_user_with_an_enabled_role_and_button(
    connection: Connection, loss: str
) -> None:
    assert await role_rights.has_administrator(connection)
    await execute(connection, loss)
    assert not await role_rights.has_administrator(connection)
