"""What is read of an API key, when it is read again, and how often wrong ones are tried."""

import asyncio
import secrets
from datetime import datetime
from typing import Any

import pytest

from service.authn.throttle import Throttle
from service.errors import RateLimited, TokenInvalid, Unavailable
from service.features.service_accounts import store
from service.features.service_accounts import store_holders as api_keys
from service.features.service_accounts.callers import ApiKeyCallers
from service.features.service_accounts.form import ApiKey, new_secret
from service.kernel.identity import NewAccount, Target
from service.keyspace import SessionStore
from service.records import accounts, user_list
from service.settings import Redis
from service.settings import Throttle as ThrottleSettings
from tests.authn.conftest import Container
from tests.authn.people import execute


async def account(parts: Container) -> int:
    name = f"robot-{secrets.token_hex(4)}"
    async with parts.database.transaction() as connection:
        (role_id,) = (await user_list.role_ids(connection, ["super"])).values()
        values = {"user_name": name, "nick_name": name, "kind": "service"}
        return await accounts.create(connection, None, NewAccount(values), [role_id])


async def key_of(parts: Container, user_id: int) -> str:
    secret = new_secret()
    async with parts.database.transaction() as connection:
        stored = await store.add(
            connection,
            Target(user_id, "others"),
            key_name="job",
            hint=secret[:4],
            digest=ApiKey(1, secret).digest_of("service"),
            scopes=None,
            seconds=None,
            created_by=1,
        )
    return str(ApiKey(stored.id, secret))


def strict(parts: Container, most: int) -> ApiKeyCallers:
    throttle = Throttle(ThrottleSettings(key_address=most), parts.store.counters)
    return ApiKeyCallers(parts.database, parts.store, throttle)


async def test_wrong_keys_are_counted_and_a_known_good_one_is_never_stopped(parts: Container) -> None:
    callers = strict(parts, 3)
    user_id = await account(parts)
    known, unknown = await key_of(parts, user_id), await key_of(parts, user_id)
    await callers.of_key(known)
    wrong = [str(ApiKey(number, new_secret())) for number in (1, 1, 999)]
    for key in wrong:
        with pytest.raises(TokenInvalid):
            await callers.of_key(key)

    for key in (*wrong, unknown):
        with pytest.raises(RateLimited) as raised:
            await callers.of_key(key)
    assert raised.value.limit == "key-address"
    await parts.store.mark([str(user_id)])
    assert (await callers.of_key(known)).caller.user_id == user_id, "though it must be read again"


async def test_wrong_keys_of_others_are_not_counted(parts: Container) -> None:
    callers = strict(parts, 1)
    for _ in range(3):
        with pytest.raises(TokenInvalid):
            await callers.of_key(str(ApiKey(999, new_secret())), counted=False)


async def test_a_change_while_the_rights_are_read_is_seen(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_id = await account(parts)
    key = await key_of(parts, user_id)
    read, readings = api_keys.holder, []

    async def overtaken(connection: Any, key_id: int, at: datetime) -> Any:
        holder = await read(connection, key_id, at)
        readings.append(key_id)
        if len(readings) == 1:  # the answered change of another worker, between reading and keeping
            await execute(parts, "DELETE FROM sys.user_role WHERE user_id = :user", user=user_id)
            await parts.store.mark([str(user_id)])
        return holder

    monkeypatch.setattr(api_keys, "holder", overtaken)
    known = await parts.api_keys.of_key(key)

    assert len(readings) == 2
    assert known.caller.held.codes == frozenset()


async def test_requests_of_the_same_moment_share_one_reading_and_later_ones_need_none(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await key_of(parts, await account(parts))
    read, readings = api_keys.holder, []

    async def counted(connection: Any, key_id: int, at: datetime) -> Any:
        readings.append(key_id)
        return await read(connection, key_id, at)

    monkeypatch.setattr(api_keys, "holder", counted)
    await asyncio.gather(*(parts.api_keys.of_key(key) for _ in range(20)))
    for _ in range(20):
        await parts.api_keys.of_key(key)

    assert len(readings) == 1


async def test_without_the_session_store_a_known_key_is_neither_passed_nor_called_wrong(
    parts: Container,
) -> None:
    key = await key_of(parts, await account(parts))
    async with SessionStore(Redis(url="redis://127.0.0.1:1/0"), parts.settings) as away:
        callers = ApiKeyCallers(
            parts.database, away, Throttle(ThrottleSettings(enabled=False), away.counters)
        )
        with pytest.raises(Unavailable):
            await callers.of_key(key)
        await parts.api_keys.of_key(key)
        monkeyed = parts.api_keys._store
        parts.api_keys._store = away
        with pytest.raises(Unavailable):
            await parts.api_keys.of_key(key)
        parts.api_keys._store = monkeyed


async def test_no_more_keys_are_kept_in_mind_than_allowed(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.features.service_accounts.callers.MOST_KEYS", 2)
    user_id = await account(parts)
    for _ in range(4):
        await parts.api_keys.of_key(await key_of(parts, user_id))
    assert len(parts.api_keys._known) == 2
