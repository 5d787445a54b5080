"""Bans are what the database says; the session store repeats it, may lose it, and may be out of date."""

import asyncio

import pytest
from redis.asyncio import Redis as Client

from service.authn.denials import Denials
from service.authn.revocations import Revocations
from service.authn.token_issuer import TokenPair
from service.errors import AccountBanned, RefreshRejected
from service.kernel.identity import Target
from service.kernel.permission_map import PermissionMap
from service.keyspace import SessionStore
from service.records import accounts, bans
from service.settings import Redis
from tests.authn.conftest import Container
from tests.authn.people import execute, log_in

pytestmark = pytest.mark.usefixtures("own_database")

USER = 1
MAP = PermissionMap({"*": 0})


async def ban(parts: Container, seconds: int | None = None, reason: str = "spam") -> None:
    """Ban the user in the database, and nowhere else."""
    async with parts.database.transaction() as connection:
        await bans.ban(connection, Target(USER, "others"), seconds, reason, by=7)


async def unban(parts: Container) -> bool:
    async with parts.database.transaction() as connection:
        return await bans.unban(connection, USER)


async def settle(parts: Container) -> int:
    return await Denials(parts.database, parts.store).settle(USER)


async def refused(parts: Container, pair: TokenPair) -> None:
    """Neither a login nor a refresh is let in, and both say that it is for a ban."""
    with pytest.raises(AccountBanned):
        await log_in(parts, "ios")
    with pytest.raises(AccountBanned):
        await parts.refresh.refresh(pair.refresh_token)


async def test_a_banned_user_stays_out_of_a_store_that_was_emptied(parts: Container, redis_url: str) -> None:
    pair = await log_in(parts)
    await ban(parts)
    assert await settle(parts) == 1
    async with Client.from_url(redis_url) as client:
        await client.flushdb()

    await refused(parts, pair)


async def test_a_refused_refresh_has_the_store_know_the_ban_again(parts: Container) -> None:
    pair = await log_in(parts)
    await ban(parts, 60)
    with pytest.raises(AccountBanned) as raised:
        await parts.refresh.refresh(pair.refresh_token)

    assert raised.value.extra["until"].endswith("Z")
    assert await parts.store.sessions("1") == {}
    with pytest.raises(AccountBanned):
        await parts.authenticator.authenticate(pair.access_token, MAP)


async def test_a_ban_that_only_the_store_still_repeats_keeps_nobody_out(parts: Container) -> None:
    await ban(parts)
    await settle(parts)
    await unban(parts)

    assert await log_in(parts)
    assert await parts.store.ban_of("1") is None


async def test_a_refresh_goes_on_where_only_the_store_still_repeats_a_ban(parts: Container) -> None:
    pair = await log_in(parts)
    await parts.store._client.set("auth:deny:1", "banned")
    await parts.store._client.set("auth:ban:1", b'{"reason":"","since":1,"cached":true}')

    assert await parts.refresh.refresh(pair.refresh_token)


async def test_a_ban_that_an_operator_set_in_the_store_keeps_the_user_out(parts: Container) -> None:
    pair = await log_in(parts)
    await parts.store._client.set("auth:deny:1", "banned")

    await refused(parts, pair)
    assert await parts.store.ban_of("1") is not None


async def test_a_ban_ends_by_itself_in_both_places(parts: Container) -> None:
    await ban(parts, 60)
    await settle(parts)
    ban_of_store = await parts.store.ban_of("1")
    assert ban_of_store is not None
    assert ban_of_store.until is not None
    with pytest.raises(AccountBanned):
        await log_in(parts)
    # A minute later:
    await execute(parts, "UPDATE sys.user_ban SET until = until - interval '1 minute'")
    await parts.store._client.pexpireat("auth:deny:1", ban_of_store.until - 60_000)

    assert await log_in(parts)
    assert not await unban(parts)


async def test_a_ban_is_stored_with_its_reason_and_who_banned_and_never_gets_shorter(
    parts: Container,
) -> None:
    await ban(parts, 3600, "first")
    await ban(parts, 60, "second")
    async with parts.database.transaction() as connection:
        rows = await connection.exec_driver_sql(
            "SELECT reason, banned_by, until > now() + interval '59 minutes' FROM sys.user_ban"
        )
        assert list(map(tuple, rows)) == [("second", 7, True)]
        assert await bans.ban(connection, Target(USER, "others"), None, "", by=7) is None
        assert await bans.ban(connection, Target(USER, "others"), 60, "", by=7) is None


async def test_a_ban_that_has_ended_lengthens_no_later_one(parts: Container) -> None:
    await ban(parts, 60)
    await execute(parts, "UPDATE sys.user_ban SET until = now() - interval '1 day'")
    async with parts.database.transaction() as connection:
        known = await accounts.credentials_of(connection, USER)
        assert known is not None
        assert not known.banned
        until = await bans.ban(connection, Target(USER, "others"), 60, "", by=7)
        selected = await connection.exec_driver_sql("SELECT clock_timestamp()")
        assert until is not None
        assert 0 < (until - selected.scalar_one()).total_seconds() <= 60


async def test_the_store_agrees_with_the_database_no_matter_who_settles_last(parts: Container) -> None:
    async def set_and_settle(*, banned: bool) -> None:
        await (ban(parts) if banned else unban(parts))
        await settle(parts)

    for _ in range(6):
        await asyncio.gather(*(set_and_settle(banned=state) for state in (True, False) * 3))
        async with parts.database.transaction() as connection:
            denial = await bans.denial_of(connection, USER)
        assert (await parts.store.ban_of("1") is None) == (denial is None)


@pytest.mark.parametrize(
    "steps", [["disabled"], ["disabled", "enabled"], ["disabled", "enabled", "disabled"]]
)
async def test_a_status_set_while_the_store_is_away_is_what_the_store_says_when_it_is_back(
    parts: Container, monkeypatch: pytest.MonkeyPatch, steps: list[str]
) -> None:
    """The first word finds no store; by the time it is said again, the user may have another status."""
    monkeypatch.setattr("service.authn.revocations.RETRY", 0.01)
    pair = await log_in(parts)
    async with SessionStore(Redis(url="redis://127.0.0.1:1/0"), parts.settings) as away:
        revocations = Revocations(parts.database, away)
        for step in steps:
            await execute(parts, f"UPDATE sys.user SET status = '{step}'")
            assert await revocations.settle(Target(USER, "others")) == 0
        monkeypatch.setattr(away, "_scripts", parts.store._scripts)  # the store is back
        await revocations.finish()

    disabled = steps[-1] == "disabled"
    assert (await parts.store.ban_of("1") is not None) == disabled
    if disabled:
        with pytest.raises(AccountBanned):
            await parts.authenticator.authenticate(pair.access_token, MAP)
    else:
        assert await log_in(parts)


async def test_a_deleted_user_leaves_no_ban(parts: Container) -> None:
    pair = await log_in(parts)
    await ban(parts)
    await execute(parts, "DELETE FROM sys.user_role")
    await execute(parts, "DELETE FROM sys.user")
    await settle(parts)

    with pytest.raises(RefreshRejected):
        await parts.refresh.refresh(pair.refresh_token)
    async with parts.database.transaction() as connection:
        assert await bans.denial_of(connection, USER) is None
        assert not await bans.unban(connection, USER)
