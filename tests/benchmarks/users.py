"""What a page of the list of users costs, by filter and sort, when there are 100,000 users.

Asked over HTTP, one request at a time, of a server with one worker on one core; the database has the other.
Each request goes to a service with few users right before it goes to the one with many, and the ratio is that
of the two. By which index each page is found and counted, PostgreSQL says itself.
"""

import asyncio
import dataclasses
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

import msgspec
import psycopg
import uvloop
from sqlalchemy import event
from sqlalchemy.engine import Engine

from service.authz.publishing.shipped import read_shipped
from service.endpoints.users import UserQuery
from service.features.embedded.stores import EmbeddedStores
from service.records import user_list
from service.records.database.transactions import Database
from service.records.user_list import SORTS, UserFilter
from service.server.prepare import publish_policy
from service.settings import load
from tests.benchmarks.frame.results import Note, Pace, Result, at_most, result
from tests.benchmarks.installation import environment
from tests.benchmarks.load import Connection, json_request, request_bytes
from tests.benchmarks.servers import pin_to_last_core, serving_worker
from tests.support.databases import database
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD, seed_database

SIZES = (1_000, 100_000)
REQUESTS = 3
"""How often a page is asked for in a round."""
LIMIT = 100.0  # milliseconds; sorted by the last login, all users are read
CHARTED = {
    *("first page by userName", "last page by userName", "a part of the name, by name"),
    *("a part of most addresses, by name", "a role that all have, latest", "disabled, latest"),
}
"""Pages that the chart shows, beside the slowest."""

USERS = """
INSERT INTO sys."user"
    (user_name, user_name_key, nick_name, password_hash, email, phone, status, create_time, update_time)
SELECT name, name, initcap(name), 'x',
    CASE WHEN i % 10 > 0 THEN name || '@example.org' END,
    '+49 30 ' || lpad((i * 7919 % 10000000)::text, 7, '0'),
    CASE WHEN i % 20 = 0 THEN 'disabled' ELSE 'enabled' END,
    timestamptz '2024-01-01Z' + i * interval '13 minutes',
    timestamptz '2026-01-01Z' + (i * 7919 % 100000) * interval '1 minute'
FROM (SELECT i, substr(md5(i::text), 1, 8) || i AS name FROM generate_series(1, {size}) i) AS made
"""
ROLES = """
INSERT INTO sys.user_role
SELECT u.id, r.id FROM sys."user" u, sys.role r
WHERE r.role_code = 'user' OR (r.role_code = 'auditor' AND u.id % 100 = 0)
"""

LOGINS = """
INSERT INTO sys.user_login
SELECT id, timestamptz '2026-01-01Z' + (id * 7919 % 100000) * interval '1 minute'
FROM sys."user" WHERE id % 5 > 0
"""

FILTERS: dict[str, dict[str, str]] = {
    "everybody": {},
    "a part of anything": {"keyword": "abc1"},
    "a part of the name": {"userName": "abc"},
    "two letters of it": {"userName": "ab"},
    "a part of the nick name": {"nickName": "c12"},
    "a part of the address": {"email": "abc1"},
    "a part of most addresses": {"email": "@example.org"},
    "a part of the phone": {"phone": "123"},
    "nobody": {"userName": "zzzz"},
    "enabled": {"status": "enabled"},
    "disabled": {"status": "disabled"},
    "a role that few have": {"roleCode": "auditor"},
    "a role that all have": {"roleCode": "user"},
    "made in a month": {"createTimeFrom": "2025-03-01T00:00:00Z", "createTimeTo": "2025-04-01T00:00:00Z"},
    "name and status": {"userName": "ab1", "status": "enabled"},
}


@dataclass(frozen=True)
class Case:
    """A page: how it is called, and its query."""

    name: str
    query: dict[str, str]


def cases(size: int) -> list[Case]:
    """Return the pages that are asked of a table of ``size`` users."""
    last = str(size // 20)
    listed = [Case(f"first page by {sort}", {"sort": sort}) for sort in SORTS]
    listed += [Case(f"last page by {sort}", {"sort": sort, "page": last}) for sort in SORTS]
    listed += [Case(f"{name}, by name", query | {"sort": "userName"}) for name, query in FILTERS.items()]
    listed += [Case(f"{name}, latest", query | {"sort": "-createTime"}) for name, query in FILTERS.items()]
    return listed


def main(pace: Pace) -> Iterator[Result | Note]:
    """Yield the time of each page at both sizes, and a note for each that is found without an index."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder, ExitStack() as stack:
        stores = stack.enter_context(EmbeddedStores(Path(folder) / "data", durable=False))
        pin_to_last_core()
        asked, many = [], ""
        for number, size in enumerate(SIZES):
            many = stack.enter_context(database(stores, name=f"users_{size}"))
            fill(many, size)
            environ = environment(stores, Path(folder)) | {
                "DATABASE_URL": many,
                "REDIS_URL": f"{stores.redis_url}?db={number}",
            }
            publish_policy(load(environ), read_shipped())
            asked.append((stack.enter_context(serving_worker(environ)).port, cases(size)))
        times = uvloop.run(measured(asked, pace.rounds))
        plans = uvloop.run(explained(many))
    yield from pages(times, plans)


def fill(url: str, size: int) -> None:
    """Make a database with ``size`` users, most of whom have one role."""
    seed_database(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(USERS.replace("{size}", str(size)).encode())
        connection.execute(ROLES.encode())
        connection.execute(LOGINS.encode())
        connection.execute("VACUUM ANALYZE")


async def measured(asked: list[tuple[int, list[Case]]], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return for each page, round by round, the seconds with few users and with many."""
    sides = []
    for port, pages in asked:
        connection = await Connection.open(port)
        credentials = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
        answer = await connection.ask(json_request("POST", "/api/auth/login", port, credentials))
        bearer = f"Bearer {json.loads(answer)['data']['accessToken']}"
        paths = [f"/api/user/list?{urlencode(page.query)}" for page in pages]
        sides.append((connection, [request_bytes(path, port, Authorization=bearer) for path in paths]))
    timings: dict[str, list[tuple[float, float]]] = {page.name: [] for page in asked[0][1]}
    for _ in range(rounds):
        for place, page in enumerate(asked[0][1]):
            few, many = [await middle(connection, requests[place]) for connection, requests in sides]
            timings[page.name].append((few, many))
    return timings


async def middle(connection: Connection, request: bytes) -> float:
    """Return the median seconds of ``REQUESTS``."""
    times = []
    for _ in range(REQUESTS):
        async with asyncio.timeout(30):
            start = time.perf_counter()
            await connection.ask(request)
            times.append(time.perf_counter() - start)
    return median(times)


async def explained(url: str) -> dict[str, list[str]]:
    """Return for each page of many users how PostgreSQL counts and finds it."""
    async with Database(url, timeout=30) as users:
        plans = {}
        with psycopg.connect(url) as asking, statements() as seen:
            asking.execute(str(user_list.PLANNING).encode())
            for page in cases(SIZES[-1]):
                seen.clear()
                async with users.snapshot() as connection:
                    await user_list.page(
                        connection,
                        criteria_of(page.query),
                        page=int(page.query.get("page", 1)),
                        sort=page.query["sort"],
                    )
                listed = [query for query in seen if "count(" in query[0] or " LIMIT " in query[0]]
                plans[page.name] = [plan(asking, *query) for query in listed]
    return plans


def criteria_of(query: dict[str, str]) -> UserFilter:
    sent = {name: [value] if name == "status" else value for name, value in query.items()}
    asked = msgspec.convert(sent, UserQuery, strict=False)
    return UserFilter(**{each.name: getattr(asked, each.name) for each in dataclasses.fields(UserFilter)})


@contextmanager
def statements() -> Iterator[list[tuple[str, Any]]]:
    """Note every statement that is sent, with its parameters."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        seen.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    yield seen
    event.remove(Engine, "before_cursor_execute", note)


def plan(connection: psycopg.Connection[Any], statement: str, parameters: Any) -> str:
    """Return the scans of a statement, in a few words."""
    lines = connection.execute(f"EXPLAIN (COSTS OFF) {statement}".encode(), parameters).fetchall()
    scans = [line.strip().removeprefix("->").strip() for (line,) in lines if " Scan " in line]
    return ", ".join(
        scan for scan in scans if not scan.startswith("Bitmap Heap Scan") and not scan.endswith(" on role")
    )


def pages(
    times: dict[str, list[tuple[float, float]]], plans: dict[str, list[str]]
) -> Iterator[Result | Note]:
    """Yield a result for each page, and a note for each that PostgreSQL finds or counts without an index."""
    worst = max(times, key=lambda name: median(many for _, many in times[name]))
    for name, rounds in times.items():
        few, many = ([1000 * seconds for seconds in column] for column in zip(*rounds, strict=True))
        yield result(
            name,
            "ms",
            many,
            against=result(f"the same of {SIZES[0]:,}", "ms", few),
            goals=[at_most(LIMIT)],
            chart=f"Pages of {SIZES[1]:,} users" if name == worst or name in CHARTED else "",
        )
        for what, plan_text in zip(("counted", "found"), plans[name], strict=True):
            if "Seq Scan" in plan_text:
                yield Note(f"{name}: {what} by {plan_text}")
