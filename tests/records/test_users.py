from datetime import UTC, datetime

import pytest
from sqlalchemy import func, insert, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.identity import Target
from service.kernel.text import name_key
from service.records import accounts, menus, role_rights, user_list
from service.records.logs import inserts
from service.records.logs.events import LoginEvent
from service.records.schema.rights import menu, role, role_menu, user, user_login, user_role
from tests.support.seeded import ADMINISTRATOR


async def a_user(connection: AsyncConnection, name: str = "Björn") -> int:
    values = {
        "user_name": name,
        "user_name_key": name_key(name),
        "nick_name": "B",
        "password_hash": "old",
    }
    made: int = (await connection.execute(insert(user).values(values).returning(user.c.id))).scalar_one()
    return made


async def a_role(connection: AsyncConnection, code: str, user_id: int, *marks: str) -> int:
    values = {"role_name": code, "role_name_key": code, "role_code": code}
    made: int = (await connection.execute(insert(role).values(values).returning(role.c.id))).scalar_one()
    await connection.execute(insert(user_role).values(user_id=user_id, role_id=made))
    for metadata in marks:
        chosen = menu.select().where(menu.c.auth_mark == metadata).with_only_columns(menu.c.id)
        await connection.execute(insert(role_menu).values(role_id=made, menu_id=chosen.scalar_subquery()))
    return made


@pytest.mark.parametrize("written", ["Björn", "BJÖRN", "bjo\u0308rn", "\uff22jörn"])
async def test_a_user_is_found_by_any_spelling_of_the_same_name(
    connection: AsyncConnection, written: str
) -> None:
    user_id = await a_user(connection)
    account = await accounts.credentials(connection, written)
    assert account == accounts.Credentials(
        user_id=user_id,
        user_name="Björn",
        nick_name="B",
        kind="person",
        service=None,
        password_hash="old",
        password_initial=None,
        password_age=0,
        status="enabled",
        banned=False,
        banned_until=None,
        second_factor=False,
    )
    assert "old" not in repr(account)


@pytest.mark.parametrize("written", ["", "bjorn", "Björn ", "' OR 1=1 --", "%"])
async def test_an_unknown_user_has_no_credentials(connection: AsyncConnection, written: str) -> None:
    await a_user(connection)
    assert await accounts.credentials(connection, written) is None


async def test_a_disabled_user_has_credentials_that_say_so(connection: AsyncConnection) -> None:
    await connection.execute(text("UPDATE sys.\"user\" SET status = 'disabled'"))
    account = await accounts.credentials(connection, ADMINISTRATOR)
    assert account is not None
    assert account.status == "disabled"


async def test_a_hash_is_replaced_only_while_it_is_the_expected_one(connection: AsyncConnection) -> None:
    user_id = await a_user(connection)
    renewed = accounts.renew_password
    assert await renewed(connection, user_id, "new", expected_hash="old", initial="leaked") is True
    assert await renewed(connection, user_id, "newer", expected_hash="old", initial=None) is False
    account = await accounts.credentials(connection, "Björn")
    assert account is not None
    assert (account.password_hash, account.password_initial) == ("new", "leaked")


async def test_rights_are_the_union_over_roles_each_code_once_and_sorted(connection: AsyncConnection) -> None:
    user_id = await a_user(connection)
    await a_role(connection, "second", user_id, "system:user:list", "system:menu:list")
    await a_role(connection, "first", user_id, "system:user:list", "*")
    assert await role_rights.of(connection, user_id) == role_rights.Rights(
        ("first", "second"), ("*", "system:menu:list", "system:user:list")
    )


async def test_a_disabled_role_gives_neither_its_name_nor_its_codes(connection: AsyncConnection) -> None:
    user_id = await a_user(connection)
    await a_role(connection, "on", user_id, "system:user:list")
    off = await a_role(connection, "off", user_id, "system:user:list", "*")
    await connection.execute(role.update().where(role.c.id == off).values(enabled=False))
    assert await role_rights.of(connection, user_id) == role_rights.Rights(("on",), ("system:user:list",))


async def test_a_disabled_button_gives_nothing_and_has_no_bit(connection: AsyncConnection) -> None:
    user_id = await a_user(connection)
    await a_role(connection, "one", user_id, "system:user:list", "system:menu:list")
    await connection.execute(
        menu.update().where(menu.c.auth_mark == "system:user:list").values(enabled=False)
    )
    assert (await role_rights.of(connection, user_id)).permissions == ("system:menu:list",)
    assert "system:user:list" not in await menus.permission_bits(connection)


async def test_a_disabled_menu_takes_no_right_away(connection: AsyncConnection) -> None:
    user_id = await a_user(connection)
    await a_role(connection, "one", user_id, "system:user:list")
    await connection.execute(menu.update().where(menu.c.menu_type == "Menu").values(enabled=False))
    assert (await role_rights.of(connection, user_id)).permissions == ("system:user:list",)


async def test_the_auth_mark_of_a_menu_is_no_permission(connection: AsyncConnection) -> None:
    user_id = await a_user(connection)
    await connection.execute(menu.update().where(menu.c.name == "policy").values(auth_mark="page:policy"))
    await a_role(connection, "one", user_id, "page:policy")
    assert await role_rights.of(connection, user_id) == role_rights.Rights(("one",), ())
    assert "page:policy" not in await menus.permission_bits(connection)


async def test_a_user_without_roles_and_an_unknown_one_have_no_rights(connection: AsyncConnection) -> None:
    assert await role_rights.of(connection, await a_user(connection)) == role_rights.Rights((), ())
    assert await role_rights.of(connection, 10**9) == role_rights.Rights((), ())


async def test_the_account_of_a_user_tells_the_rights(connection: AsyncConnection) -> None:
    account = await accounts.credentials(connection, ADMINISTRATOR)
    assert account is not None
    assert await accounts.info(connection, account.user_id) == accounts.Info(
        user_id=account.user_id,
        user_name="admin",
        nick_name="Administrator",
        email=None,
        avatar=None,
        language=None,
        time_zone=None,
        roles=("super",),
        permissions=("*",),
    )
    assert await accounts.info(connection, 10**9) is None


async def test_the_last_login_never_goes_back_and_goes_with_its_user(connection: AsyncConnection) -> None:
    user_id = await a_user(connection)
    early, late = (datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2))

    def login(at: datetime, of: int = user_id) -> LoginEvent:
        return LoginEvent(event="login", outcome="success", user_id=of, create_time=at)

    await inserts.note_logins(connection, [login(late), login(early), login(early, 4711)])
    await inserts.note_logins(connection, [login(early)])

    assert (await user_list.read(connection, user_id)).last_login_time == late
    times = select(func.count()).select_from(user_login)
    assert (await connection.execute(times.where(user_login.c.user_id == 4711))).scalar_one() == 0
    await accounts.delete(connection, Target(user_id, "others"))
    assert (await connection.execute(times.where(user_login.c.user_id == user_id))).scalar_one() == 0
