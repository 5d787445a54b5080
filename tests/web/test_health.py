import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from service.endpoints.health import Live, Ready
from service.kernel.coded_sentences import Sentence
from service.kernel.metrics import Health, State
from service.web.observability import readiness
from service.web.observability.readiness import Check, ReadinessChecks
from service.web.requests.application import Application
from service.web.requests.credentials import OperatorToken
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.support.cases import with_each
from tests.support.waiting import eventually_here
from tests.web.driver import Answer, ask
from tests.web.example_service import OpenGate

TOKEN = "mX3-" * 8


def check_of(state: State, **details: Any) -> Check:
    async def check() -> Health:
        return Health(state, details)

    return check


async def down() -> Health:
    raise ConnectionError("postgresql://admin:hunter2@db is away")


async def hanging() -> Health:
    await asyncio.sleep(3600)
    raise AssertionError


async def facts() -> Mapping[str, Any]:
    return {"version": "1.2.3"}


def service(checks: ReadinessChecks, token: str = TOKEN) -> RequestMiddleware:
    app = Application()
    routes = Routes(app, OpenGate())
    routes.add_outside("/health/live", Live())
    routes.add_outside("/health/ready", Ready(checks, OperatorToken(token), facts))
    routes.check([])
    return RequestMiddleware(app)


async def get(path: str, *headers: tuple[str, str], token: str = TOKEN, **checks: Check) -> Answer:
    within = 0.05 if hanging in checks.values() else 30.0
    return await ask(
        service(ReadinessChecks(checks, {"database"}, within=within), token), "GET", path, *headers
    )


async def test_a_live_process_says_so_whatever_its_parts_do() -> None:
    answer = await get("/health/live", database=down)
    assert (answer.status, answer.json) == (200, {"data": {"status": "live"}})


async def test_ready_names_the_state_of_each_part_and_nothing_else() -> None:
    answer = await get("/health/ready", database=check_of("up", version="18.1"), files=check_of("up"))
    assert (answer.status, answer.json["data"]) == (
        200,
        {"status": "ready", "parts": {"database": "up", "files": "up"}},
    )


@with_each(
    ("check", "state"),
    [
        (check_of("degraded"), "degraded"),
        (check_of("read_only"), "read_only"),
        (down, "down"),
        (hanging, "down"),
    ],
)
async def test_a_part_that_requests_can_do_without_degrades(check: Check, state: str) -> None:
    answer = await get("/health/ready", database=check_of("up"), files=check)
    assert (answer.status, answer.json["data"]) == (
        200,
        {"status": "degraded", "parts": {"database": "up", "files": state}},
    )


@pytest.mark.parametrize(
    ("check", "state"), [(check_of("read_only"), "read_only"), (down, "down"), (hanging, "down")]
)
async def test_a_vital_part_that_is_down_hangs_or_refuses_writes_makes_it_not_ready(
    check: Check, state: str
) -> None:
    answer = await get("/health/ready", database=check, files=check_of("up", version="18.1"))
    assert (answer.status, answer.code) == (503, "unavailable")
    assert answer.json["parts"] == {"database": state, "files": "up"}
    assert answer.header("retry-after") == "1"
    assert b"hunter2" not in answer.body
    assert "details" not in answer.json


async def test_a_vital_part_that_works_with_a_loss_leaves_it_ready() -> None:
    answer = await get("/health/ready", database=check_of("degraded"))
    assert (answer.status, answer.json["data"]["status"]) == (200, "degraded")


@pytest.mark.parametrize("state", ["up", "read_only"])
async def test_the_operators_token_shows_the_details_ready_or_not(state: State) -> None:
    headers = ("Authorization", f"Bearer {TOKEN}"), ("X-Real-IP", "198.51.100.1"), ("X-Other", "1")
    answer = await get("/health/ready", *headers, database=check_of(state, version="18.1"))
    document = answer.json["data"] if state == "up" else answer.json
    arrived = {"address": "192.0.2.7", "peer": "192.0.2.7", "headers": {"x-real-ip": "198.51.100.1"}}
    assert document["details"] == {"version": "1.2.3", "request": arrived, "database": {"version": "18.1"}}


@pytest.mark.parametrize(("sent", "token"), [(f"Bearer {TOKEN}x", TOKEN), ("Bearer ", ""), ("", "")])
async def test_another_token_shows_no_more_than_none(sent: str, token: str) -> None:
    answer = await get("/health/ready", ("Authorization", sent), token=token, database=check_of("up"))
    assert (answer.status, answer.json["data"]) == (200, {"status": "ready", "parts": {"database": "up"}})


async def test_all_who_ask_at_once_or_soon_after_share_one_look_even_if_one_goes_away() -> None:
    looks = 0
    release = asyncio.Event()

    async def counted() -> Health:
        nonlocal looks
        looks += 1
        await release.wait()
        return Health("up")

    checks = ReadinessChecks({"database": counted}, {"database"}, within=30, every=30)
    asked = [asyncio.create_task(checks.look()) for _ in range(10)]
    await asyncio.sleep(0)
    asked[0].cancel()
    await asyncio.sleep(0)
    release.set()
    assert [report["database"].state for report in await asyncio.gather(*asked[1:])] == ["up"] * 9
    assert (await checks.look())["database"].state == "up"
    assert looks == 1


async def test_a_check_that_still_runs_at_the_end_is_ended() -> None:
    begun, ended = asyncio.Event(), False

    async def endless() -> Health:
        nonlocal ended
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # such as the return of a connection
            ended = True
        raise AssertionError

    checks = ReadinessChecks({"database": endless}, {"database"}, within=30)
    running = asyncio.create_task(checks.look())
    await begun.wait()
    await checks.finish()
    assert ended
    await asyncio.wait([running])


async def test_a_look_is_taken_again_when_the_last_one_is_old() -> None:
    states: list[State] = ["up", "down", "up"]

    async def next_one() -> Health:
        return Health(states.pop(0))

    checks = ReadinessChecks({"database": next_one}, {"database"}, every=0)
    assert [(await checks.look())["database"].state for _ in range(3)] == ["up", "down", "up"]


async def test_a_worker_that_is_withdrawn_is_not_ready_however_its_parts_fare() -> None:
    checks = ReadinessChecks({"database": check_of("up")}, {"database"})
    app = service(checks)
    assert (await ask(app, "GET", "/health/ready")).status == 200
    checks.withdraw(Sentence("The service is stopping"))
    answer = await ask(app, "GET", "/health/ready")
    assert (answer.status, answer.code) == (503, "unavailable")
    assert answer.json["detail"] == "The service is stopping"


async def test_a_part_is_a_sample_of_one_while_it_is_up_and_of_zero_otherwise() -> None:
    states: list[State] = ["up", "degraded"]

    async def next_one() -> Health:
        return Health(states.pop(0))

    checks = ReadinessChecks({"database": next_one, "files": down}, {"database"}, every=0)

    def values() -> dict[str, float]:
        return {sample.labels["part"]: sample.value for sample in checks.samples()}

    assert values() == {"database": 0, "files": 0}
    await checks.look()
    assert values() == {"database": 1, "files": 0}
    await checks.look()
    assert values() == {"database": 0, "files": 0}


async def test_parts_that_nobody_asks_for_are_checked_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = {"database": 0, "files": 0}

    def counted(name: str) -> Check:
        async def check() -> Health:
            looks[name] += 1
            return Health("up")

        return check

    monkeypatch.setattr(readiness, "UNASKED", 0.03)
    checks = ReadinessChecks({name: counted(name) for name in looks}, {"database"}, every=0)
    running = asyncio.create_task(checks.run({"files": 3600.0}))
    assert await eventually_here(lambda: looks["database"] > 1)
    running.cancel()
    assert looks["files"] == 1
