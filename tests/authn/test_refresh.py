"""Refresh on real stores: one of which nobody learned costs no session, and gives nobody a second pair."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
import structlog
from redis.asyncio import Redis as Client

from service.authn.login_log import LoginLog
from service.authn.refresh import Refresh
from service.authn.token_issuer import TokenIssuer, TokenPair
from service.errors import (
    AccountBanned,
    RefreshRejected,
    RefreshRequired,
    TokenInvalid,
    Unavailable,
)
from service.features.notices.notices import Notices
from service.features.notices.store_notices import page
from service.kernel.permission_map import PermissionMap
from service.keyspace import SessionStore, Unconfirmed
from service.records.database.transactions import Database
from service.records.logs.events import LoginEvent
from service.settings import Auth, Redis
from tests.authn.conftest import SECRET, Container
from tests.authn.keys import hs256, verify_access
from tests.authn.people import execute, log_in
from tests.authn.test_tokens import HEADER, refresh_claims

MAP = PermissionMap({"*": 0, "system:user:list": 9})


async def refresh(parts: Container, pair: TokenPair) -> TokenPair:
    return await parts.refresh.refresh(pair.refresh_token)


async def reason(parts: Container, token: str) -> str:
    with pytest.raises(RefreshRejected) as raised:
        await parts.refresh.refresh(token)
    return str(raised.value.extra["reason"])


async def works(parts: Container, pair: TokenPair) -> bool:
    try:
        await parts.authenticator.authenticate(pair.access_token, MAP)
    except RefreshRequired:
        return False
    return True


CLAIMS = {"acr", "amr", "auth_time"}


async def edit_session(redis_url: str, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write what ``edit`` returns for the stored session of user 1 on the web, past the service."""
    key = "auth:device:1:web"
    async with Client.from_url(redis_url) as client:
        stored = await client.get(key)
        assert isinstance(stored, bytes)
        await client.set(key, json.dumps(edit(json.loads(stored))), keepttl=True)


async def test_an_access_token_from_before_a_refresh_works_until_it_expires(parts: Container) -> None:
    first = await log_in(parts)
    await refresh(parts, first)

    assert await works(parts, first)


async def test_a_refresh_keeps_how_and_when_the_user_has_authenticated(
    parts: Container, redis_url: str
) -> None:
    pair = await log_in(parts)
    stronger = {"acr": "mfa", "amr": ["pwd", "otp"], "auth_time": 1_700_000_000.25}
    await edit_session(redis_url, lambda session: session | stronger)
    for _ in range(2):
        pair = await refresh(parts, pair)
    claims = verify_access(parts.tokens, pair.access_token)

    assert (claims.acr, claims.amr, claims.auth_time) == ("mfa", ("pwd", "otp"), 1_700_000_000.25)


async def test_a_session_of_version_020_is_one_with_a_password_since_its_login(
    parts: Container, redis_url: str
) -> None:
    pair = await log_in(parts)
    opened = verify_access(parts.tokens, pair.access_token).iat
    await edit_session(redis_url, lambda session: {name: session[name] for name in session.keys() - CLAIMS})
    claims = verify_access(parts.tokens, (await refresh(parts, pair)).access_token)

    assert (claims.acr, claims.amr, claims.auth_time) == ("pwd", ("pwd",), opened)


@pytest.mark.usefixtures("own_database")
async def test_a_refresh_takes_the_latest_names_and_rights(parts: Container) -> None:
    first = await log_in(parts)
    await execute(parts, "UPDATE sys.user SET nick_name = 'Renamed'")
    await execute(parts, "DELETE FROM sys.user_role")
    claims = verify_access(parts.tokens, (await refresh(parts, first)).access_token)

    assert (claims.nick_name, claims.roles, claims.pb) == ("Renamed", (), "")


async def test_within_the_grace_a_repeat_gives_the_same_successor(parts: Container, redis_url: str) -> None:
    async with SessionStore(Redis(url=redis_url), replace(parts.settings, refresh_grace=60)) as lenient:
        repeater = Refresh(parts.database, lenient, parts.tokens, parts.pairs, notices=Notices())
        pair = await log_in(parts)
        first = await repeater.refresh(pair.refresh_token)
        again = await repeater.refresh(pair.refresh_token)

    assert again == first


@pytest.mark.usefixtures("own_database")
async def test_a_right_taken_away_during_a_refresh_is_not_in_its_token(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role loses its permissions, and the user is marked, between reading the rights and rotating."""
    pair = await log_in(parts)
    real = SessionStore.rotate_session
    changed = False

    async def overtaken(store: SessionStore, *facts: object, **named: object) -> object:
        nonlocal changed
        if not changed:
            changed = True
            await execute(parts, "DELETE FROM sys.role_menu")
            await store.mark(["1"])
        return await real(store, *facts, **named)  # type: ignore[arg-type]  # handed through

    monkeypatch.setattr(SessionStore, "rotate_session", overtaken)
    caller = (await parts.authenticator.authenticate((await refresh(parts, pair)).access_token, MAP)).caller

    assert caller.held.codes == set()


@pytest.mark.usefixtures("own_database")
async def test_a_deleted_user_is_refused_and_loses_all_sessions(parts: Container) -> None:
    pair = await log_in(parts)
    await execute(parts, "DELETE FROM sys.user_role")
    await execute(parts, "DELETE FROM sys.user")

    assert await reason(parts, pair.refresh_token) == "ended"
    assert not await works(parts, pair)


@pytest.mark.usefixtures("own_database")
async def test_a_disabled_and_banned_user_is_told_of_the_ban(parts: Container) -> None:
    pair = await log_in(parts)
    await execute(parts, "UPDATE sys.user SET status = 'disabled'")
    await parts.store.ban("1", None, "disabled")

    with pytest.raises(AccountBanned):
        await refresh(parts, pair)


@pytest.mark.usefixtures("own_database")
async def test_a_signed_token_for_another_users_refresh_id_is_rejected(parts: Container) -> None:
    """As a holder of the key could make it; user 2 is there, the refresh id is user 1's."""
    pair = await log_in(parts)
    rid = parts.tokens.verify_refresh(pair.refresh_token).rid
    await execute(
        parts,
        "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
        " VALUES ('b', 'b', 'B', '')",
    )
    async with parts.database.transaction() as connection:
        selected = await connection.exec_driver_sql("SELECT id FROM sys.user WHERE user_name = 'b'")
        other = str(selected.scalar_one())

    assert await reason(parts, hs256(HEADER, refresh_claims(sub=other, rid=rid), SECRET)) == "unknown"
    assert await refresh(parts, pair)


async def test_an_expired_refresh_token_is_rejected_as_ended(parts: Container) -> None:
    assert await reason(parts, hs256(HEADER, refresh_claims(iat=1.5, exp=2), SECRET)) == "ended"


async def test_an_access_token_refreshes_nothing(parts: Container) -> None:
    with pytest.raises(TokenInvalid):
        await parts.refresh.refresh((await log_in(parts)).access_token)


async def test_without_a_store_a_refresh_is_refused_and_the_token_not_spent(parts: Container) -> None:
    pair = await log_in(parts)
    async with SessionStore(Redis(url="redis://127.0.0.1:1/0"), parts.settings) as away:
        nowhere = Database("postgresql://nobody@127.0.0.1:1/none")
        without_database = TokenIssuer(nowhere, parts.tokens, lambda: MAP, parts.initial)
        for broken in (
            Refresh(parts.database, away, parts.tokens, parts.pairs, notices=Notices()),
            Refresh(nowhere, parts.store, parts.tokens, without_database, notices=Notices()),
        ):
            with pytest.raises(Unavailable):
                await broken.refresh(pair.refresh_token)
    await nowhere.close()

    assert await refresh(parts, pair)


async def lost(parts: Container, pair: TokenPair) -> TokenPair:
    """Refresh for a client that goes away before its answer."""

    async def gone() -> bool:
        return True

    renewed = await parts.refresh.renew(parts.refresh.verify(pair.refresh_token))
    await parts.refresh.hand_out(renewed, gone)
    return renewed


async def test_of_forty_clients_that_repeat_a_lost_refresh_one_gets_the_successor(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.authn.refresh.PATIENCE", 30.0)  # however slow the machine is
    pair = await log_in(parts)
    await lost(parts, pair)
    again = [parts.refresh.refresh(pair.refresh_token) for _ in range(40)]
    results = await asyncio.gather(*again, return_exceptions=True)
    reasons = [outcome.extra["reason"] for outcome in results if isinstance(outcome, RefreshRejected)]

    assert sum(isinstance(outcome, TokenPair) for outcome in results) == 1
    assert reasons == ["superseded"] * 39


async def test_a_replay_of_the_token_after_the_successor_arrived_gets_nothing(parts: Container) -> None:
    pair = await log_in(parts)
    await lost(parts, pair)
    await parts.refresh.refresh(pair.refresh_token)
    for _ in range(3):
        with pytest.raises(RefreshRejected) as raised:
            await parts.refresh.refresh(pair.refresh_token)
        assert raised.value.extra["reason"] == "superseded"


async def test_an_access_token_that_is_used_proves_that_its_pair_arrived(parts: Container) -> None:
    """Although the process that handed it out could not tell the store."""
    pair = await log_in(parts)
    renewed = await lost(parts, pair)
    await parts.authenticator.authenticate(renewed.access_token, MAP)
    for _ in range(1000):
        if not await parts.store._client.keys("auth:undelivered:*"):
            break
        await asyncio.sleep(0.02)

    with pytest.raises(RefreshRejected) as raised:
        await parts.refresh.refresh(pair.refresh_token)
    assert raised.value.extra["reason"] == "superseded"


async def test_while_nobody_knows_a_repeat_is_told_to_come_again_and_not_that_it_lost(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that rotated was killed a moment ago: its lease is not over yet."""
    monkeypatch.setattr("service.authn.refresh.PATIENCE", 0.1)
    pair = await log_in(parts)
    await parts.refresh.renew(parts.refresh.verify(pair.refresh_token))

    with pytest.raises(Unavailable):
        await parts.refresh.refresh(pair.refresh_token)


@pytest.fixture
async def unreplicated(redis_url: str, auth: Auth) -> AsyncIterator[SessionStore]:
    """The store, waiting for a replica that it does not have: all that it does is unconfirmed."""
    async with SessionStore(Redis(url=redis_url, wait_replicas=1, timeout=0.5), auth) as store:
        yield store


async def test_an_unconfirmed_refresh_leaves_its_tokens_to_the_next_repeat_at_once(
    parts: Container, unreplicated: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.authn.refresh.PATIENCE", 0.0)
    pair = await log_in(parts)
    waiting = Refresh(parts.database, unreplicated, parts.tokens, parts.pairs, notices=Notices())
    for _ in range(2):
        with pytest.raises(Unconfirmed):
            await waiting.refresh(pair.refresh_token)

    assert await works(parts, await refresh(parts, pair))


@pytest.mark.usefixtures("own_database")
@pytest.mark.parametrize("confirmed", [True, False])
async def test_a_session_that_ends_as_stolen_leaves_its_alarm_and_a_notice_to_its_owner(
    parts: Container, unreplicated: SessionStore, auth: Auth, *, confirmed: bool
) -> None:
    pair = await log_in(parts)
    await refresh(parts, pair)
    store = parts.store if confirmed else unreplicated
    store._auth = replace(auth, refresh_race_window=0)
    entries: list[LoginEvent] = []
    log = LoginLog(entries.append)
    judge = Refresh(parts.database, store, parts.tokens, parts.pairs, log=log, notices=Notices())
    with structlog.testing.capture_logs() as lines, pytest.raises((RefreshRejected, Unconfirmed)):
        await judge.refresh(pair.refresh_token)

    assert [(entry.event, entry.reason, entry.user_id, entry.device) for entry in entries] == [
        ("reuse", "reused", 1, pair.device)
    ]
    assert [line["event_type"] for line in lines] == ["security"]
    async with parts.database.snapshot() as connection:
        [notice] = (await page(connection, 1, page=1, size=10)).items
    assert (notice.kind, notice.facts) == ("session_stolen", {"device": pair.device})
