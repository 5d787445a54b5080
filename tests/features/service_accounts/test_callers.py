"""What a request with an API key may do, from the next request after each change, on every worker."""

import asyncio
from typing import Any

import pytest
from redis.asyncio import Redis

from service.kernel.origin import ORIGIN
from service.records.database.transactions import Database
from tests.features.service_accounts.conftest import Workers
from tests.support.members import ids_of, query

LIST = "system:role:list"


async def held(workers: Workers, key: str) -> list[set[str]]:
    """Return what each worker says that the key holds."""
    return [set(answer.json["data"]["permissions"]) for answer in await workers.ask(key, "/api/user/info")]


async def test_a_key_does_what_its_account_may_and_nothing_else(workers: Workers) -> None:
    key = await workers.key(await workers.account(LIST))

    assert await workers.statuses(key) == [200, 200]
    assert await workers.statuses(key, "/api/user/list") == [403, 403]


async def test_wrong_keys_are_refused_alike(workers: Workers) -> None:
    account = await workers.account(LIST)
    good, other = await workers.key(account), await workers.key(account)
    swapped = "_".join([*good.split("_")[:2], *other.split("_")[2:]])
    for key in (good[:-1], good + "0", good.upper(), swapped, "pck_", "pck_1_x_y"):
        answers = await workers.ask(key)
        assert [answer.code for answer in answers] == ["token_invalid"] * 2
        assert all(b"pck_" not in answer.body for answer in answers)


async def test_the_rights_follow_a_role_from_the_next_request_on(workers: Workers) -> None:
    account = await workers.account(LIST)
    key = await workers.key(account)
    assert await workers.statuses(key) == [200, 200]
    path = f"/api/role/{account.role_id}/permissions"
    (button,) = await ids_of(workers.first, LIST)

    for menu_ids, expected in (([], 403), ([button], 200), ([], 403)):
        await workers.first.data("PUT", path, {"menuIds": menu_ids})
        assert await workers.statuses(key) == [expected, expected]


async def test_the_rights_follow_the_account_from_the_next_request_on(workers: Workers) -> None:
    account = await workers.account(LIST)
    key = await workers.key(account)
    user = f"/api/user/{account.id}"
    assert await workers.statuses(key) == [200, 200]

    await workers.first.data("PATCH", user, {"roleIds": []})
    assert await workers.statuses(key) == [403, 403]
    await workers.second.data("PATCH", user, {"roleIds": [account.role_id]})
    assert await workers.statuses(key) == [200, 200]
    await workers.first.data("PUT", f"{user}/status", {"status": "disabled"})
    assert [answer.code for answer in await workers.ask(key)] == ["account_banned"] * 2
    await workers.first.data("PUT", f"{user}/status", {"status": "enabled"})
    assert await workers.statuses(key) == [200, 200]
    await workers.second.data("POST", f"/api/online/{account.id}/ban", {"reason": "for a test"})
    assert [answer.code for answer in await workers.ask(key)] == ["account_banned"] * 2
    await workers.second.data("DELETE", f"/api/online/{account.id}/ban")
    assert await workers.statuses(key) == [200, 200]
    assert (await workers.first.ask("DELETE", user)).status == 200
    assert [answer.code for answer in await workers.ask(key)] == ["token_invalid"] * 2


async def test_scopes_narrow_the_rights_and_never_widen_them(workers: Workers) -> None:
    account = await workers.account(LIST, "system:role:create", "system:menu:list")
    scoped = [
        (["*"], {LIST, "system:role:create", "system:menu:list"}),
        (["system:role:*"], {LIST, "system:role:create"}),
        (["system:*:list"], {LIST, "system:menu:list"}),
        ([LIST, "system:user:list"], {LIST}),
        (["other:*"], set()),
    ]
    for scopes, expected in scoped:
        key = await workers.key(account, scopes=scopes)
        assert await held(workers, key) == [expected, expected]


@pytest.mark.parametrize("codes", [(LIST,), ("*",)])
async def test_a_key_with_an_empty_list_of_scopes_opens_nothing(
    workers: Workers, codes: tuple[str, ...]
) -> None:
    key = await workers.key(await workers.account(*codes), scopes=[])
    for path in ("/api/role/list", "/api/user/info", "/api/user/profile", "/api/auth/sessions"):
        answers = await workers.ask(key, path)
        assert [answer.code for answer in answers] == ["permission_denied"] * 2, path
        assert all(answer.json["decisionId"] for answer in answers)


async def test_an_account_without_codes_opens_what_is_open_to_everybody_logged_in(workers: Workers) -> None:
    key = await workers.key(await workers.account())
    assert await workers.statuses(key, "/api/user/info") == [200, 200]
    assert await workers.statuses(key) == [403, 403]


async def test_an_account_that_holds_everything_is_narrowed_by_scopes_too(workers: Workers) -> None:
    key = await workers.key(await workers.account("*"), scopes=[LIST])

    assert await workers.statuses(key) == [200, 200]
    assert await workers.statuses(key, "/api/user/list") == [403, 403]
    assert await held(workers, key) == [{LIST}, {LIST}]


async def test_an_expired_key_is_refused_also_where_it_was_known(workers: Workers) -> None:
    key = await workers.key(await workers.account(LIST), seconds=4)
    assert await workers.statuses(key) == [200, 200]
    async with asyncio.timeout(20):
        while 200 in await workers.statuses(key):  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.05)
    assert [answer.code for answer in await workers.ask(key)] == ["token_expired"] * 2


async def test_a_service_account_can_not_log_in_and_has_no_password(workers: Workers) -> None:
    account = await workers.account(LIST)
    body = {"userName": account.name, "password": "four wary herons"}
    refused = await workers.first.ask("POST", "/api/auth/login", body)
    unknown = await workers.first.ask("POST", "/api/auth/login", {**body, "userName": "nobody-at-all"})
    reset = await workers.first.ask("PUT", f"/api/user/{account.id}/password", {"newPassword": "x" * 20})

    assert refused.code == unknown.code == "login_failed"
    assert reset.code == "conflict"


async def test_a_request_with_a_known_key_asks_the_database_nothing(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await workers.key(await workers.account(LIST))
    assert await workers.statuses(key, "/api/auth/sessions") == [200, 200]
    asked = []
    bounded = Database._bounded

    def counted(*arguments: Any, **more: Any) -> Any:
        if ORIGIN.get() is not None:  # within a request, and not the upkeep of a worker
            asked.append(arguments)
        return bounded(*arguments, **more)

    monkeypatch.setattr(Database, "_bounded", counted)
    for _ in range(10):
        assert await workers.statuses(key, "/api/auth/sessions") == [200, 200]
    assert asked == []
    assert await workers.statuses(key) == [200, 200]
    assert len(asked) == 2, "the lists of roles"


async def test_an_emptied_session_store_does_not_stop_keys_and_revives_no_rights(
    workers: Workers, module_redis_url: str
) -> None:
    account = await workers.account(LIST)
    key = await workers.key(account)
    assert await workers.statuses(key) == [200, 200]
    await query(workers.first, "DELETE FROM sys.user_role WHERE user_id = %s", account.id)
    assert await workers.statuses(key) == [200, 200], "a change by hand announces nothing"
    async with Redis.from_url(module_redis_url) as client:
        await client.delete(f"auth:rights:{account.id}")

    assert await workers.statuses(key) == [403, 403]


async def test_the_last_use_is_noted_beside_the_request_and_at_most_once_a_minute(workers: Workers) -> None:
    account = await workers.account(LIST)
    key = await workers.key(account)
    statement = "SELECT last_use_time FROM sys.api_key WHERE user_id = %s"
    assert await query(workers.first, statement, account.id) == [(None,)]
    noted = [(None,)]
    while noted == [(None,)]:
        await workers.statuses(key)
        noted = await query(workers.first, statement, account.id)
    for _ in range(5):
        await workers.statuses(key)

    assert await query(workers.first, statement, account.id) == noted
