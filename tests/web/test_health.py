from __future__ import annotations

import asyncio

import pytest

from service.web.entrance import Entrance, falcon_app
from service.web.health import Check, Live, Ready
from service.web.routes import Routes
from tests.web.driver import Answer, ask
from tests.web.example_service import OpenGate

pytestmark = pytest.mark.anyio


async def up() -> None:
    return None


async def stale() -> str:
    return "revision 12, not renewed for 40 s"


async def down() -> None:
    raise ConnectionError("postgresql://admin:hunter2@db is away")


async def hanging() -> None:
    await asyncio.sleep(3600)


async def get(path: str, **checks: Check) -> Answer:
    app = falcon_app()
    routes = Routes(app, OpenGate())
    routes.add_outside("/health/live", Live())
    routes.add_outside("/health/ready", Ready(checks, within=0.05))
    routes.check([])
    return await ask(Entrance(app), "GET", path)


async def test_a_live_process_says_so_whatever_its_parts_do() -> None:
    answer = await get("/health/live", database=down)
    assert (answer.status, answer.json) == (200, {"data": {"status": "live"}})


async def test_ready_names_the_state_of_each_part() -> None:
    answer = await get("/health/ready", database=up, policy=stale)
    assert (answer.status, answer.json["data"]) == (
        200,
        {"status": "ready", "parts": {"database": "up", "policy": "revision 12, not renewed for 40 s"}},
    )


@pytest.mark.parametrize("check", [down, hanging])
async def test_one_part_that_is_down_or_hangs_makes_it_not_ready(check: Check) -> None:
    answer = await get("/health/ready", database=check, sessions=up)
    assert (answer.status, answer.code) == (503, "unavailable")
    assert answer.json["parts"] == {"database": "down", "sessions": "up"}
    assert answer.header("retry-after") == "1"
    assert b"hunter2" not in answer.body
