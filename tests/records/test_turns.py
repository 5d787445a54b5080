from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from service.records.database.cooperative_yield import CooperativeYield

pytestmark = pytest.mark.anyio


async def test_other_tasks_run_between_two_parts() -> None:
    done: list[str] = []

    async def other() -> None:
        while done.count("mine") < 20:
            done.append("other")
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    turns = CooperativeYield()
    for _ in range(20):
        done.append("mine")
        await turns.give_way()
    await task

    assert ("mine", "mine") not in pairwise(done)


async def test_outside_an_event_loop_nothing_is_given_way_to() -> None:
    await asyncio.to_thread(CooperativeYield().give_way_if_async)
