"""What a token is worth as of a request."""

import asyncio
from dataclasses import replace

import pytest
from msgspec.structs import asdict
from redis.asyncio import Redis as Client

from service.authn.authenticate import Authenticator
from service.authn.verified import MOST_TOKENS
from service.authz.engine import paths, policy
from service.errors import AccountBanned, RefreshRequired
from service.kernel.assurance import Authentication
from service.kernel.identity import Caller
from service.kernel.permission_map import PermissionMap
from service.keyspace import SessionStore
from service.settings import Redis
from tests.authn.conftest import SECRET, Container
from tests.authn.keys import hs256, verify_access
from tests.authn.people import log_in
from tests.authn.test_tokens import HEADER

with_each_cache_size = pytest.mark.usefixtures("cache_sizes")

MAP = PermissionMap({"*": 0})


async def ask(parts: Container, token: str) -> Caller:
    return (await parts.authenticator.authenticate(token, MAP)).caller


@with_each_cache_size
async def test_a_token_works_while_its_session_is_there(parts: Container) -> None:
    pair = await log_in(parts)

    assert (await ask(parts, pair.access_token)).login_id == "1"
    await parts.store.close_session("1", "web")
    with pytest.raises(RefreshRequired):
        await ask(parts, pair.access_token)


@with_each_cache_size
async def test_a_replaced_session_loses_access_at_once(parts: Container) -> None:
    first = await log_in(parts)
    second = await log_in(parts)

    with pytest.raises(RefreshRequired):
        await ask(parts, first.access_token)
    assert await ask(parts, second.access_token)


@with_each_cache_size
async def test_an_evicted_device_loses_access_at_once_and_the_others_keep_it(parts: Container) -> None:
    pairs = [await log_in(parts, f"d{number}") for number in range(6)]

    with pytest.raises(RefreshRequired):
        await ask(parts, pairs[0].access_token)
    for pair in pairs[1:]:
        assert await ask(parts, pair.access_token)


@with_each_cache_size
async def test_a_marker_stops_tokens_issued_before_it_and_none_issued_after(parts: Container) -> None:
    before = await log_in(parts, "web")
    await parts.store.mark(["1"])
    after = await log_in(parts, "ios")

    with pytest.raises(RefreshRequired):
        await ask(parts, before.access_token)
    assert await ask(parts, after.access_token)


@with_each_cache_size
async def test_a_ban_stops_a_token_with_its_end(parts: Container, redis_url: str) -> None:
    pair = await log_in(parts)
    async with Client.from_url(redis_url) as client:  # set by hand: the session is still there
        await client.set("auth:deny:1", "banned", px=60_000)
        with pytest.raises(AccountBanned) as raised:
            await ask(parts, pair.access_token)
        await client.set("auth:deny:1", "banned")
        with pytest.raises(AccountBanned) as endless:
            await ask(parts, pair.access_token)

    assert raised.value.extra["until"].endswith("Z")
    assert endless.value.extra == {}


async def test_a_marker_that_cannot_be_read_stops_the_token(parts: Container, redis_url: str) -> None:
    pair = await log_in(parts)
    async with Client.from_url(redis_url) as client:
        for marker in ("", "refresh", "refresh:", "refresh:soon", "refresh:nan", "Banned", "refresh:1e999"):
            await client.set("auth:deny:1", marker)
            with pytest.raises(RefreshRequired):
                await ask(parts, pair.access_token)


async def test_a_session_that_cannot_be_read_stops_the_token(parts: Container, redis_url: str) -> None:
    pair = await log_in(parts)
    async with Client.from_url(redis_url) as client:
        for session in ("", "{}", "[]", "null", '{"login_time":"now"}', '{"login_time":NaN}'):
            await client.set("auth:device:1:web", session)
            with pytest.raises(RefreshRequired):
                await ask(parts, pair.access_token)


@with_each_cache_size
async def test_an_emptied_store_refuses_every_old_token(parts: Container, redis_url: str) -> None:
    pair = await log_in(parts)
    async with Client.from_url(redis_url) as client:
        await client.flushdb()

    with pytest.raises(RefreshRequired):
        await ask(parts, pair.access_token)


async def test_a_token_without_claims_of_it_is_of_a_password_since_the_login(parts: Container) -> None:
    claims = verify_access(parts.tokens, (await log_in(parts)).access_token)
    old = {"typ": "access", **asdict(claims)}
    for name in ("acr", "amr", "auth_time", "initial", "nbf", "permissions"):
        del old[name]

    for _ in range(2):
        caller = await ask(parts, hs256(HEADER, old, SECRET))
        assert caller.authentication == Authentication("pwd", ("pwd",), claims.iat)


async def test_a_token_of_an_older_node_without_a_name_works_until_the_next_refresh(parts: Container) -> None:
    pair = await log_in(parts)
    claims = verify_access(parts.tokens, pair.access_token)
    unnamed = {"typ": "access", **asdict(claims)}
    for name in ("sid", "initial", "nbf", "permissions"):
        del unnamed[name]

    assert await ask(parts, hs256(HEADER, unnamed, SECRET))
    for other in (claims.iat - 0.001, claims.iat + 0.001):
        with pytest.raises(RefreshRequired):
            await ask(parts, hs256(HEADER, unnamed | {"iat": other}, SECRET))
    await asyncio.sleep(0.002)  # the next one has a time of its own
    await parts.refresh.refresh(pair.refresh_token)
    with pytest.raises(RefreshRequired):
        await ask(parts, hs256(HEADER, unnamed, SECRET))


async def test_with_the_deny_check_off_a_token_works_without_the_store(parts: Container) -> None:
    pair = await log_in(parts)
    off = replace(parts.settings, per_request_deny_check=False)
    async with SessionStore(Redis(url="redis://127.0.0.1:1/0"), off) as away:
        assert await Authenticator(off, parts.tokens, away, parts.api_keys).authenticate(
            pair.access_token, MAP
        )


USUAL = (MOST_TOKENS, policy.MAX_REMEMBERED, paths.canonical.cache_info().maxsize)


async def test_what_a_test_makes_has_caches_of_its_size(cache_sizes: int | None, parts: Container) -> None:
    tokens = parts.authenticator._verified._most
    sizes = (tokens, policy.MAX_REMEMBERED, paths.canonical.cache_info().maxsize)
    assert sizes == (USUAL if cache_sizes is None else (cache_sizes,) * 3)
