"""Keys that are made while their owner's sessions end: none outlives the end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.features.personal_keys.conftest import KEYS, LIST
from tests.features.service_accounts.conftest import Workers
from tests.support.members import Member, member, query

ORDER = {"name": "late", "scopes": [LIST], "expiresIn": 600}
PASSWORD = {"newPassword": "five wary herons"}
ROUNDS = 12


async def _kicked(workers: Workers, owner: Member) -> Any:
    return await workers.second.ask("DELETE", f"/api/online/{owner.user_id}")


async def _logged_out_everywhere(_workers: Workers, owner: Member) -> Any:
    return await owner.ask("POST", "/api/auth/logout/all")


async def _ended_with_others(workers: Workers, owner: Member) -> Any:
    return await workers.second.ask("POST", "/api/user/bulk/end-sessions", {"ids": [owner.user_id]})


ENDS: list[Callable[[Workers, Member], Awaitable[Any]]] = [
    _kicked,
    _logged_out_everywhere,
    _ended_with_others,
]


async def test_no_key_made_while_all_sessions_end_outlives_them(workers: Workers) -> None:
    owner = await member(workers.first, "racer", LIST)
    left: list[tuple[str, int]] = []
    made = 0
    for number in range(ROUNDS):
        end = ENDS[number % len(ENDS)]
        await owner.log_in()

        async def create(delay: float) -> Any:
            await asyncio.sleep(delay)
            return await owner.ask("POST", KEYS, ORDER)

        *answers, ended = await asyncio.gather(
            *(create(delay / 500) for delay in range(4)), end(workers, owner)
        )
        assert ended.status == 200, ended.body
        made += sum(answer.status == 201 for answer in answers)
        rows = await query(workers.first, "SELECT id FROM sys.api_key WHERE user_id = %s", owner.user_id)
        left += [(end.__name__, *row) for row in rows]
        for (key_id,) in rows:
            await query(workers.first, "DELETE FROM sys.api_key WHERE id = %s RETURNING id", key_id)
    assert left == []
    assert made > 0, "no key was made: the test shows nothing"
