from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from service.kernel.cooperative_yield import CooperativeYield
from service.records.policy_lines import give_way_if_async

pytestmark = pytest.mark.anyio


async def test_other_tasks_run_between_two_parts() -> None:
    done: list[str] = []

    async def other() -> None:
        while done.count("mine") < 20:
            done.append("other")
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    pauses = CooperativeYield()
    for _ in range(20):
        done.append("mine")
        await pauses.give_way()
    await task

    assert ("mine", "mine") not in pairwise(done)


async def test_synchronous_code_outside_a_greenlet_does_not_give_way() -> None:
    await asyncio.to_thread(give_way_if_async, CooperativeYield())
