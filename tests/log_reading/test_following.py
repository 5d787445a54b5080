"""A log that is followed: each entry once, whenever its event was, while others write at the same time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from service.audit.chain.form import Chain
from service.audit.chain.writer import Writing
from service.audit.entries import encode
from service.records.database.transactions import Database
from service.records.logs.positions import follow_cursor
from tests.audit.conftest import operation
from tests.log_reading.entries import at, logins, operations
from tests.support.inside import Inside

pytestmark = pytest.mark.anyio

LIST = "/api/operation-log/list"


async def after(service: Inside, cursor: str, query: str = "module=followed") -> Any:
    return await service.data("GET", f"{LIST}?{query}&after={cursor}")


def ids(items: list[dict[str, Any]]) -> list[int]:
    return [entry["id"] for entry in items]


async def test_what_is_written_late_is_read_though_its_event_was_earlier(shared: Inside) -> None:
    await operations(shared.database_url, {"module": "followed", "create_time": at(50)})
    page = await shared.data("GET", f"{LIST}?module=followed")
    cursor = page["followCursor"]
    assert (await after(shared, cursor))["items"] == []
    late, latest = await operations(
        shared.database_url,
        {"module": "followed", "create_time": at(-50)},
        {"module": "followed", "create_time": at(90)},
    )
    first = await after(shared, cursor, "module=followed&size=1")
    assert ids(first["items"]) == [late]
    assert (first["total"], first["nextCursor"]) == (None, None)
    second = await after(shared, first["followCursor"])
    assert ids(second["items"]) == [latest]
    assert (await after(shared, second["followCursor"]))["items"] == []


async def test_entries_that_do_not_match_are_passed_over_once(shared: Inside) -> None:
    (started,) = await operations(shared.database_url, {"module": "others"})
    cursor = (await after(shared, follow_cursor(started), "module=none"))["followCursor"]
    (last,) = await operations(shared.database_url, {"module": "others"})
    moved = (await after(shared, cursor, "module=none"))["followCursor"]
    assert last in ids((await after(shared, cursor, "module=others"))["items"])
    assert last not in ids((await after(shared, moved, "module=others"))["items"])
    by_cursor = await shared.data("GET", f"{LIST}?module=others&size=1")
    assert (await shared.data("GET", f"{LIST}?module=others&cursor={by_cursor['nextCursor']}"))[
        "followCursor"
    ] is None


async def test_nothing_is_missed_and_nothing_comes_twice_while_several_write(shared: Inside) -> None:
    cursor = (await shared.data("GET", LIST))["followCursor"]
    database = Database(shared.database_url, pool_size=4)
    writing = Writing(database, Chain())
    parts = [
        [encode(operation(100 * part + number, module="busy")) for number in range(4)] for part in range(12)
    ]
    done = asyncio.gather(*(writing.write("operation_log", part) for part in parts))
    actions: list[str] = []
    while not done.done() or len(actions) < 48:
        page = await after(shared, cursor, "module=busy&size=5")
        cursor = page["followCursor"]
        actions += [entry["action"] for entry in page["items"]]
        if done.done() and not page["items"]:
            break
    await done
    await database.close()
    assert sorted(actions) == sorted(
        f"action {100 * part + number}" for part in range(12) for number in range(4)
    )


async def test_the_events_of_sessions_are_followed_alike(shared: Inside) -> None:
    cursor = (await shared.data("GET", "/api/login-log/list"))["followCursor"]
    (written,) = await logins(shared.database_url, {"device": "followed"})
    page = await shared.data("GET", f"/api/login-log/list?device=followed&after={cursor}")
    assert ids(page["items"]) == [written]


async def test_a_cursor_that_no_answer_gave_out_is_refused(shared: Inside) -> None:
    page = await shared.data("GET", f"{LIST}?size=1")
    for query in (
        "after=x",
        f"after={page['nextCursor'] or 'AAAA'}",
        f"after={follow_cursor(2**62)}",
        f"after={page['followCursor']}&cursor={page['nextCursor']}",
    ):
        refused = await shared.ask("GET", f"{LIST}?{query}")
        assert (refused.status, refused.fields) == (422, ["after"]), query
