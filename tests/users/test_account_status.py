"""Disabling and enabling accounts on real stores."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import permutations

import pytest

from service.administration.accounts import Accounts
from service.administration.delegation import Delegation
from service.administration.unit_of_work import RightsUnits
from service.authn.password_rules import PasswordRules
from service.authn.revocations import Revocations
from service.authn.sessions import Sessions
from service.errors import (
    AccountBanned,
    AccountDisabled,
    Conflict,
    NotFound,
    PermissionDenied,
    RefreshRequired,
    Unavailable,
)
from service.features.notices.notices import Notices
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap
from service.kernel.write import Write
from service.keyspace import SessionStore
from service.records import accounts as users
from service.records import user_list
from service.records.database.transactions import Connection
from service.records.user_list import User
from service.settings import Password, Redis
from tests.authn import people
from tests.authn.conftest import Container
from tests.authn.people import execute
from tests.support.seeded import ADMINISTRATOR, create_user

pytestmark = pytest.mark.usefixtures("own_database")

PASSWORD = "four wary herons"


def caller(*codes: str, user_id: int = 1) -> Caller:
    return Caller(user_id, str(user_id), ADMINISTRATOR, ADMINISTRATOR, "web", (), HeldCodes(codes), 0.0)


ROOT = caller("*")


async def untold(_connection: Connection, _before: User | None, _after: User, _by: int | None) -> None:
    """Send no mail."""


@pytest.fixture
def accounts(parts: Container, delegation: Delegation) -> Accounts:
    rules = PasswordRules(Password())
    revocations = Revocations(parts.database, parts.store)
    units = RightsUnits(parts.database, delegation, revocations)
    return Accounts(units, revocations, parts.passwords, rules, notices=Notices(), address_changed=untold)


async def new_user(parts: Container, name: str, *roles: str) -> int:
    async with parts.database.transaction() as connection:
        return await create_user(connection, name, await parts.passwords.hash(PASSWORD), *roles)


async def log_in(parts: Container, name: str, permission_map: PermissionMap) -> Caller:
    pair = await people.log_in(parts, "ios", PASSWORD, user_name=name)
    return (await parts.authenticator.authenticate(pair.access_token, permission_map)).caller


async def test_a_disabled_user_is_out_at_once_and_stays_banned_after_a_logout(
    parts: Container, accounts: Accounts, permission_map: PermissionMap
) -> None:
    user_id = await new_user(parts, "heron")
    pair = await people.log_in(parts, "ios", PASSWORD, user_name="heron")
    heron = (await parts.authenticator.authenticate(pair.access_token, permission_map)).caller

    await accounts.set_status(Write(ROOT), user_id, "disabled")
    await Sessions(parts.store).log_out(heron)

    assert await parts.store.sessions(str(user_id)) == {}
    with pytest.raises(AccountBanned):
        await parts.authenticator.authenticate(pair.access_token, permission_map)
    with pytest.raises(AccountBanned):
        await parts.refresh.refresh(pair.refresh_token)
    with pytest.raises(AccountDisabled):
        await log_in(parts, "heron", permission_map)


async def test_an_enabled_user_may_log_in_again_and_no_old_token_works(
    parts: Container, accounts: Accounts, permission_map: PermissionMap
) -> None:
    user_id = await new_user(parts, "heron")
    old = await people.log_in(parts, "ios", PASSWORD, user_name="heron")
    await accounts.set_status(Write(ROOT), user_id, "disabled")

    await accounts.set_status(Write(ROOT), user_id, "enabled")

    assert (await log_in(parts, "heron", permission_map)).user_id == user_id
    with pytest.raises(Exception, match="session has changed"):
        await parts.authenticator.authenticate(old.access_token, permission_map)


async def test_the_last_enabled_user_who_may_do_everything_stays(
    parts: Container, accounts: Accounts
) -> None:
    robot = await new_user(parts, "robot", "super")  # which may do everything, and can't log in
    await execute(parts, f"UPDATE sys.user SET kind = 'service', password_hash = NULL WHERE id = {robot}")

    with pytest.raises(Conflict):
        await accounts.set_status(Write(caller("*", user_id=robot)), 1, "disabled")

    async with parts.database.transaction() as connection:
        known = await users.credentials_of(connection, 1)
    assert known is not None
    assert known.status == "enabled"


async def test_of_two_administrators_who_disable_each_other_at_once_one_stays(
    parts: Container, accounts: Accounts
) -> None:
    both = {1, await new_user(parts, "second", "super")}
    for _ in range(10):
        done = await asyncio.gather(
            *(
                accounts.set_status(Write(caller("*", user_id=user_id)), other, "disabled")
                for user_id, other in permutations(both)
            ),
            return_exceptions=True,
        )
        (refused,) = (result for result in done if isinstance(result, Exception))
        # Who is disabled first does nothing any more.
        assert isinstance(refused, Conflict | RefreshRequired)
        async with parts.database.transaction() as connection:
            left = await connection.exec_driver_sql("SELECT id FROM sys.user WHERE status = 'enabled'")
            assert len(both & set(left.scalars())) == 1
        await execute(parts, "UPDATE sys.user SET status = 'enabled'")


@pytest.mark.parametrize(
    ("held", "role", "allowed"),
    [("system:*", "super", False), ("system:*", "admin", True), ("system:user:update", "auditor", False)],
)
async def test_nobody_disables_a_user_who_holds_more(
    parts: Container, accounts: Accounts, held: str, role: str, *, allowed: bool
) -> None:
    user_id = await new_user(parts, "heron", role)

    if allowed:
        await accounts.set_status(Write(caller(held)), user_id, "disabled")
    else:
        with pytest.raises(PermissionDenied):
            await accounts.set_status(Write(caller(held)), user_id, "disabled")

    async with parts.database.transaction() as connection:
        known = await users.credentials_of(connection, user_id)
    assert known is not None
    assert known.status == ("disabled" if allowed else "enabled")


async def test_disabling_nobody_is_not_found(accounts: Accounts) -> None:
    with pytest.raises(NotFound):
        await accounts.set_status(Write(ROOT), 4711, "disabled")


async def test_while_the_session_store_is_away_nothing_is_saved(
    parts: Container, delegation: Delegation
) -> None:
    heron = await new_user(parts, "heron", "auditor")
    async with SessionStore(Redis(url="redis://127.0.0.1:1/0"), parts.settings) as nowhere:
        rules = PasswordRules(Password())
        revocations = Revocations(parts.database, nowhere)
        units = RightsUnits(parts.database, delegation, revocations)
        accounts = Accounts(
            units, revocations, parts.passwords, rules, notices=Notices(), address_changed=untold
        )
        attempts: list[Callable[[], Awaitable[object]]] = [
            lambda: accounts.update(Write(ROOT), heron, {"user_name": "egret"}),
            lambda: accounts.update(Write(ROOT), heron, {"role_ids": []}),
            lambda: accounts.set_status(Write(ROOT), heron, "disabled"),
            lambda: accounts.delete(Write(ROOT), heron),
        ]

        for attempt in attempts:
            with pytest.raises(Unavailable):
                await attempt()

        async with parts.database.transaction() as connection:
            known = await user_list.read(connection, heron)
        assert (known.user_name, known.status, known.version) == ("heron", "enabled", 1)
        assert [role.role_code for role in known.roles] == ["auditor"]


async def test_the_store_says_what_is_stored_no_matter_who_was_first(
    parts: Container, accounts: Accounts
) -> None:
    heron = await new_user(parts, "heron")
    for _ in range(10):
        await asyncio.gather(
            *(accounts.set_status(Write(ROOT), heron, status) for status in ("disabled", "enabled") * 2)
        )

        async with parts.database.transaction() as connection:
            known = await user_list.read(connection, heron)
        assert (await parts.store.ban_of(str(heron)) is not None) == (known.status == "disabled")
