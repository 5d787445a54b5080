"""Login on real stores."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from service.authn.opening import SessionOpening
from service.authn.passwords import Passwords
from service.errors import (
    AccountBanned,
    AccountDisabled,
    LoginFailed,
    Unavailable,
)
from service.kernel.permission_map import PermissionMap
from service.keyspace import SessionStore
from service.records import menus
from service.records.database.transactions import Database
from service.settings import Password
from tests.authn.conftest import Container, second_factors
from tests.authn.keys import verify_access
from tests.authn.people import execute, log_in
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD


async def test_a_login_gives_both_tokens_and_opens_the_session(parts: Container) -> None:
    pair = await log_in(parts)
    access = verify_access(parts.tokens, pair.access_token)
    refresh = parts.tokens.verify_refresh(pair.refresh_token)
    session = (await parts.store.sessions(access.sub))["web"]

    assert (access.user_name, access.dev, access.roles) == (ADMINISTRATOR, "web", ("super",))
    assert (session.rid, session.login_time) == (refresh.rid, access.iat)
    assert (session.login_ip, session.browser, session.os) == ("10.0.0.1", "Firefox 115", "Linux")
    assert (pair.expires_in, pair.refresh_expires_in) == (7200, 604_800)
    assert (access.acr, access.amr, access.auth_time) == ("pwd", ("pwd",), access.iat)
    assert (session.acr, session.amr, session.auth_time) == ("pwd", ("pwd",), access.iat)


WRONG = [
    (ADMINISTRATOR, "wrong"),
    (ADMINISTRATOR, ""),
    (ADMINISTRATOR, ADMINISTRATOR_PASSWORD + " "),
    (ADMINISTRATOR, ADMINISTRATOR_PASSWORD + "\x00"),
    (ADMINISTRATOR, "p" * 100_000),
    ("nobody", ADMINISTRATOR_PASSWORD),
    ("nobody", "\ud800"),
    ("", ""),
    ("' OR 1=1 --", "x"),
]


async def test_a_code_that_the_map_in_force_does_not_know_yet_is_in_the_token(parts: Container) -> None:
    """Its Button was made a moment ago: the bits come from the database, as the next map has them."""
    parts.pairs.permission_map = lambda: PermissionMap({"system:role:list": 3})

    pair = await log_in(parts)

    async with parts.database.transaction() as connection:
        stored = PermissionMap(await menus.permission_bits(connection))
    caller = (await parts.authenticator.authenticate(pair.access_token, stored)).caller
    assert caller.held.codes == {"*"}


async def test_unknown_users_and_wrong_passwords_are_answered_alike(parts: Container) -> None:
    for user_name, password in WRONG:
        with pytest.raises(LoginFailed) as raised:
            await log_in(parts, password=password, user_name=user_name)
        assert (raised.value.detail, raised.value.extra) == (LoginFailed.title, {})


@pytest.mark.usefixtures("own_database")
async def test_a_disabled_user_is_told_so_only_with_the_right_password(parts: Container) -> None:
    await execute(parts, "UPDATE sys.user SET status = 'disabled'")

    with pytest.raises(LoginFailed):
        await log_in(parts, password="wrong")
    with pytest.raises(AccountDisabled):
        await log_in(parts)


@pytest.mark.usefixtures("own_database")
async def test_a_banned_user_is_told_until_when_only_with_the_right_password(parts: Container) -> None:
    await execute(
        parts,
        "INSERT INTO sys.user_ban (user_id, until, reason, banned_by)"
        " VALUES (1, now() + interval '1 minute', 'spam', 1)",
    )

    with pytest.raises(LoginFailed):
        await log_in(parts, password="wrong")
    with pytest.raises(AccountBanned) as raised:
        await log_in(parts)
    assert raised.value.extra["until"].endswith("Z")


async def test_without_a_device_the_user_agent_tells_it(parts: Container) -> None:
    pair = await log_in(parts, device=None, user_agent="okhttp/4.9")

    assert pair.device == "android"


@pytest.mark.usefixtures("own_database")
async def test_a_hash_of_lower_parameters_is_renewed_at_login(parts: Container) -> None:
    stronger = Passwords(Password(argon2_time=3))
    await log_in(replace(parts, passwords=stronger))
    async with parts.database.transaction() as connection:
        stored = (await connection.execute(text("SELECT password_hash FROM sys.user"))).scalar_one()

    assert "t=3" in stored
    assert await stronger.verify(stored, ADMINISTRATOR_PASSWORD)
    stronger.close()


@pytest.mark.usefixtures("own_database")
async def test_a_right_taken_away_during_a_login_is_not_in_its_token(
    parts: Container, permission_map: PermissionMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role loses its permissions, and the user is marked, between reading the rights and opening."""
    real = SessionStore.open_session
    changed = False

    async def overtaken(store: SessionStore, *facts: object, **named: object) -> object:
        nonlocal changed
        if not changed:
            changed = True
            await execute(parts, "DELETE FROM sys.role_menu")
            await store.mark(["1"])
        return await real(store, *facts, **named)  # type: ignore[arg-type]  # handed through

    monkeypatch.setattr(SessionStore, "open_session", overtaken)
    pair = await log_in(parts)

    assert (
        await parts.authenticator.authenticate(pair.access_token, permission_map)
    ).caller.held.codes == set()


@pytest.mark.usefixtures("own_database")
async def test_a_password_changed_during_a_login_ends_it(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = await parts.passwords.hash("another password")
    real = SessionStore.open_session

    async def overtaken(store: SessionStore, *facts: object, **named: object) -> object:
        await execute(parts, "UPDATE sys.user SET password_hash = :new", new=changed)
        await store.close_sessions("1")
        return await real(store, *facts, **named)  # type: ignore[arg-type]  # handed through

    monkeypatch.setattr(SessionStore, "open_session", overtaken)
    with pytest.raises(LoginFailed):
        await log_in(parts)
    assert await parts.store.sessions("1") == {}


async def test_a_login_without_the_database_is_refused_and_leaves_no_session(parts: Container) -> None:
    async with Database("postgresql://nobody@127.0.0.1:1/none") as away:
        opening = SessionOpening(away, parts.store, parts.pairs, second_factors(away, parts.store))

        with pytest.raises(Unavailable):
            await log_in(replace(parts, opening=opening))
        assert (await parts.store.online.page()).total == 0
