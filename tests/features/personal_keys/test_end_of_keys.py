"""Keys of people end with their owner's access, on every worker before the answer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.features.personal_keys.conftest import KEYS, LIST, key_of
from tests.features.service_accounts.conftest import Workers
from tests.support.members import Member, member, query

PASSWORD = {"newPassword": "five wary herons"}


async def _disabled(workers: Workers, owner: Member) -> Any:
    return await workers.first.ask("PUT", f"/api/user/{owner.user_id}/status", {"status": "disabled"})


async def _banned(workers: Workers, owner: Member) -> Any:
    return await workers.first.ask(
        "POST", f"/api/online/{owner.user_id}/ban", {"seconds": 600, "reason": "test"}
    )


async def _deleted(workers: Workers, owner: Member) -> Any:
    return await workers.first.ask("DELETE", f"/api/user/{owner.user_id}")


async def _reset(workers: Workers, owner: Member) -> Any:
    return await workers.first.ask("PUT", f"/api/user/{owner.user_id}/password", PASSWORD)


async def _kicked(workers: Workers, owner: Member) -> Any:
    return await workers.first.ask("DELETE", f"/api/online/{owner.user_id}")


async def _kicked_in_bulk(workers: Workers, owner: Member) -> Any:
    return await workers.first.ask("POST", "/api/user/bulk/end-sessions", {"ids": [owner.user_id]})


async def _logged_out_everywhere(_workers: Workers, owner: Member) -> Any:
    return await owner.ask("POST", "/api/auth/logout/all")


async def _factors_reset(workers: Workers, owner: Member) -> Any:
    return await workers.first.ask("DELETE", f"/api/user/{owner.user_id}/factors")


ENDS: list[Callable[[Workers, Member], Awaitable[Any]]] = [
    _disabled,
    _banned,
    _deleted,
    _reset,
    _kicked,
    _kicked_in_bulk,
    _logged_out_everywhere,
    _factors_reset,
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__.strip("_"))
async def test_a_key_ends_for_good_with_the_access_of_its_owner(
    workers: Workers, end: Callable[[Workers, Member], Awaitable[Any]]
) -> None:
    owner = await member(workers.first, f"ends{ENDS.index(end)}", LIST)
    key = (await key_of(owner, LIST))["key"]
    assert await workers.statuses(key) == [200, 200]
    answer = await end(workers, owner)
    assert answer.status in (200, 204), answer.body
    refused = await workers.statuses(key)
    assert all(status in (401, 403) for status in refused), refused
    assert await query(workers.first, "SELECT id FROM sys.api_key WHERE user_id = %s", owner.user_id) == []
    if end is _disabled:
        await workers.first.data("PUT", f"/api/user/{owner.user_id}/status", {"status": "enabled"})
        assert await workers.statuses(key) == [401, 401]


async def test_sessions_of_a_user_without_one_end_with_the_keys(workers: Workers) -> None:
    owner = await member(workers.first, "nan", LIST)
    key = (await key_of(owner, LIST))["key"]
    await owner.ask("POST", "/api/auth/logout")
    assert await workers.statuses(key) == [200, 200]
    assert (await workers.first.data("DELETE", f"/api/online/{owner.user_id}"))["ended"] == 0
    assert await workers.statuses(key) == [401, 401]
    assert (await workers.first.ask("DELETE", f"/api/online/{owner.user_id}")).status == 404


async def test_keys_of_service_accounts_stay_when_their_sessions_are_ended(workers: Workers) -> None:
    robot = await workers.account(LIST)
    key = await workers.key(robot)
    assert (await workers.first.ask("DELETE", f"/api/online/{robot.id}")).status == 404
    assert await workers.statuses(key) == [200, 200]


async def test_an_own_new_password_and_a_single_session_leave_the_keys(workers: Workers) -> None:
    owner = await member(workers.first, "oz", LIST)
    key = (await key_of(owner, LIST))["key"]
    (session,) = (await owner.ask("GET", "/api/auth/sessions")).json["data"]
    assert (await owner.ask("DELETE", f"/api/auth/sessions/{session['device']}")).status in (200, 204)
    assert await workers.statuses(key) == [200, 200]


async def test_no_request_passes_after_a_revocation_was_answered(workers: Workers) -> None:
    """Requests of both workers run all the time: each that begins after the answer is refused."""
    owner = await member(workers.first, "pia", LIST)
    for _ in range(10):
        await owner.log_in()
        made = await key_of(owner, LIST)
        revoked = asyncio.Event()
        stale: list[int] = []

        async def use(key: str, revoked: asyncio.Event, stale: list[int]) -> None:
            for _ in range(200):
                begun_after = revoked.is_set()
                statuses = await workers.statuses(key)
                if begun_after:
                    stale += [status for status in statuses if status == 200]
                    return

        using = [asyncio.create_task(use(made["key"], revoked, stale)) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert (await owner.ask("DELETE", f"{KEYS}/{made['id']}")).status == 200
        revoked.set()
        await asyncio.gather(*using)
        assert stale == []
