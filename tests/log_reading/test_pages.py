"""Long lists and logs that are followed: every entry once, whatever is logged meanwhile."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text

from service.audit.entries import encode
from service.audit.key_chain import Chain
from service.features.audit_proof.writer import Writing
from service.features.log_reading.store_paging import Position, follow_cursor, position_of
from service.records.database.transactions import Database
from tests.audit.conftest import operation
from tests.log_reading.entries import START, at, logins, operations
from tests.support.cases import with_each
from tests.support.inside import Inside

LIST = "/api/operation-log/list"


async def walk(service: Inside, query: str) -> AsyncIterator[Any]:
    """Follow the cursors from the first page to the last."""
    page = await service.data("GET", f"{LIST}?{query}")
    yield page
    while page["nextCursor"] is not None:
        page = await service.data("GET", f"{LIST}?{query}&cursor={page['nextCursor']}")
        yield page


async def walked(service: Inside, query: str) -> list[int]:
    return [entry["id"] async for page in walk(service, query) for entry in page["items"]]


async def fill(database_url: str, module: str, count: int) -> None:
    """Write ``count`` calls of a module, ten of them at each time."""
    async with Database(database_url) as database, database.transaction(within=60) as connection:
        await connection.execute(
            text(
                "INSERT INTO sys.operation_log"
                " (create_time, event_id, module, action, kind, method, url, status, elapsed_ms)"
                " SELECT :start - interval '1 millisecond' * (n / 10), gen_random_uuid(), :module,"
                " 'a', 'b', 'GET', '/', 200, 1 FROM generate_series(1, :count) n"
            ),
            {"start": START, "module": module, "count": count},
        )


@pytest.mark.parametrize(("sort", "newest_first"), [("createTime", False), ("-createTime", True)])
async def test_cursors_lead_to_each_entry_once_in_order_though_many_have_one_time(
    shared: Inside, sort: str, newest_first: bool
) -> None:
    module = f"ties{newest_first}"
    moments = [at(number // 5) for number in range(33)]
    written = await operations(
        shared.database_url, *({"module": module, "create_time": moment} for moment in moments)
    )

    for size in (1, 4, 11, 33, 34):
        ids = await walked(shared, f"module={module}&sort={sort}&size={size}")
        assert ids == sorted(written, reverse=newest_first)


async def test_what_is_logged_meanwhile_neither_repeats_an_entry_nor_hides_one(shared: Inside) -> None:
    written = await operations(shared.database_url, *({"module": "calm"} for _ in range(60)))
    seen: list[int] = []
    later = 1_000.0

    async for page in walk(shared, "module=calm&size=7"):
        seen += [entry["id"] for entry in page["items"]]
        busy = [{"module": "calm", "create_time": at(later := later + 1)} for _ in range(5)]
        await operations(shared.database_url, *busy)

    assert seen == sorted(written, reverse=True)
    assert (await shared.data("GET", f"{LIST}?module=calm"))["total"] > 60


async def test_writers_at_work_do_not_disturb_a_reader(shared: Inside) -> None:
    written = await operations(shared.database_url, *({"module": "busy"} for _ in range(60)))
    done = asyncio.Event()

    async def write() -> int:
        count = 0
        while not done.is_set():
            rows = [{"module": "busy", "create_time": at(1_000 + count)} for _ in range(5)]
            count += len(await operations(shared.database_url, *rows))
        return count

    writers = [asyncio.create_task(write()) for _ in range(2)]
    try:
        for _ in range(3):
            ids = await walked(shared, "module=busy&size=9")
            assert len(set(ids)) == len(ids)
            assert [entry_id for entry_id in ids if entry_id in written] == written[::-1]
    finally:
        done.set()
    assert min(await asyncio.gather(*writers)) > 0


async def test_pages_by_number_are_those_that_the_cursors_lead_to(shared: Inside) -> None:
    await operations(shared.database_url, *({"module": "pages"} for _ in range(10)))

    by_cursor = [page async for page in walk(shared, "module=pages&size=4")]
    by_number = [await shared.data("GET", f"{LIST}?module=pages&size=4&page={n}") for n in (1, 2, 3)]

    assert [page["items"] for page in by_number] == [page["items"] for page in by_cursor]
    assert [page["nextCursor"] for page in by_number] == [page["nextCursor"] for page in by_cursor]
    assert [(page["total"], page["totalIsExact"]) for page in by_number] == [(10, True)] * 3
    assert [(page["total"], page["totalIsExact"]) for page in by_cursor[1:]] == [(None, False)] * 2
    beyond = await shared.data("GET", f"{LIST}?module=pages&size=4&page=4")
    assert (beyond["items"], beyond["total"], beyond["nextCursor"]) == ([], 10, None)


@pytest.mark.parametrize("log", ["operation-log", "login-log"])
async def test_a_list_without_a_filter_counts_the_whole_log(shared: Inside, log: str) -> None:
    asked = [f"/api/{log}/list", *(["/api/operation-log/list?dryRun=false"] * (log == "operation-log"))]
    before = [(await shared.data("GET", url))["total"] for url in asked]

    await (operations if log == "operation-log" else logins)(shared.database_url, {}, {}, {})

    after = [(await shared.data("GET", url))["total"] for url in asked]
    # The service may have written some of its own.
    assert all(now >= then + 3 for then, now in zip(before, after, strict=True))


async def test_a_total_is_exact_up_to_ten_thousand_and_then_says_that_it_is_not(shared: Inside) -> None:
    await fill(shared.database_url, "long", 10_000)
    page = await shared.data("GET", f"{LIST}?module=long&size=200&page=50")
    assert (page["total"], page["totalIsExact"], len(page["items"])) == (10_000, True, 200)
    assert page["nextCursor"] is None

    await fill(shared.database_url, "long", 1)
    page = await shared.data("GET", f"{LIST}?module=long&size=200&page=50")
    assert (page["total"], page["totalIsExact"]) == (10_000, False)
    rest = await shared.data("GET", f"{LIST}?module=long&size=200&cursor={page['nextCursor']}")
    assert len(rest["items"]) == 1

    answer = await shared.ask("GET", f"{LIST}?module=long&size=200&page=51")
    assert answer.fields == ["page"]
    assert "cursor" in answer.json["errors"][0]["message"]


def test_a_cursor_names_its_position_to_the_microsecond() -> None:
    for position in (Position(START, 1, True), Position(at(-3e9), 2**63 - 1, False)):
        assert position_of(position.cursor, newest_first=position.newest_first) == position


def forged(order: int, microseconds: int, entry_id: int) -> str:
    packed = bytes([order]) + microseconds.to_bytes(8, signed=True) + entry_id.to_bytes(8, signed=True)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


GOOD = Position(START, 7, True).cursor


@with_each(
    "cursor",
    [
        "",
        "x",
        GOOD[:-1],
        GOOD + "A",
        GOOD + "=",
        GOOD + "%0A",
        "%20" + GOOD,
        GOOD[:5] + "." + GOOD[5:],
        GOOD[:-1] + chr(ord(GOOD[-1]) + 1),
        "A" * 64,
        "A" * 65,
        "%C3%A9" * 4,
        "null",
        Position(START, 7, False).cursor,
        forged(1, 0, 0),
        forged(1, 0, -1),
        forged(2, 0, 1),
        forged(1, 2**63 - 1, 1),
        forged(1, -(2**63), 1),
        "' OR 1=1 --",
    ],
)
async def test_a_cursor_that_no_list_gave_out_is_refused(shared: Inside, cursor: str) -> None:
    for path in ("operation-log/list", "login-log/list", "user/profile/login-logs"):
        answer = await shared.ask("GET", f"/api/{path}?cursor={cursor}")
        assert answer.fields == ["cursor"], cursor


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
    async with Database(shared.database_url, pool_size=4) as database:
        writing = Writing(database, Chain())
        parts = [
            [encode(operation(100 * part + number, module="busy")) for number in range(4)]
            for part in range(12)
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


async def test_the_changes_of_a_page_are_read_in_brief_by_the_ids_of_its_entries(shared: Inside) -> None:
    many = [
        {
            "target": f"user:u{n}",
            "field": "roles",
            "before": [],
            "after": [f"r{m}" for m in range(9)],
            "added": 9,
        }
        for n in range(30)
    ]
    small = [{"target": "user:lee", "field": "email", "before": None, "after": "lee@example.org"}]
    tampered = ["not a change"]
    imported = [small[0] | {"target": f"user:u{n}"} for n in range(30)] + many
    ids = await operations(
        shared.database_url, *({"changes": changes} for changes in (imported, small, tampered, None))
    )
    query = ",".join(map(str, reversed([*ids, 10**15])))
    items = (await shared.data("GET", f"/api/operation-log/changes?ids={query}"))["items"]
    assert [item["id"] for item in items] == ids[:3]
    assert [len(item["changes"]) for item in items] == [20, 1, 1]
    assert items[0]["changes"][0] == many[0] | {"after": ["r0", "r1", "r2", "r3", "r4"]}
    assert [item["changes"] for item in items[1:]] == [small, tampered]

    for refused in ("", "?ids=", "?ids=x", f"?ids={','.join(map(str, range(1, 102)))}"):
        assert (await shared.ask("GET", f"/api/operation-log/changes{refused}")).status == 422
