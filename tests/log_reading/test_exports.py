"""Exports: files that are whole or visibly cut off, safe to open, and made in little memory."""

import asyncio
import csv
import io
import json
import re
import secrets
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

import httpx
import pytest
from sqlalchemy import text

from service.errors import Refusal, Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.features.log_reading import store_paging as paging
from service.features.log_reading.store_paging import BATCH, LogReader
from service.features.log_reading.store_queries import OPERATIONS, OperationFilter
from service.records.database.transactions import Database, engine
from service.web.content import streams
from service.web.content.streams import TableFormat, export
from service.web.messages.schema import Schema
from tests.log_reading.entries import at, logins, operations
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.running import Running, kilobytes, running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.spare import SpareStores
from tests.web.driver import ask

EXPORT = "/api/operation-log/export"
MANY = 10_000

FILL = text(
    "INSERT INTO sys.operation_log"
    " (create_time, event_id, module, action, kind, method, url, status, elapsed_ms, user_agent)"
    " SELECT timestamptz '2026-11-01 00:00:00Z' + interval '1 second' * n, gen_random_uuid(), 'bulk',"
    " 'a', 'b', 'GET', '/api/thing/' || n, 200, 1, repeat('x', 4200) FROM generate_series(1, :count) n"
)


def fill(database_url: str, count: int) -> None:
    """Write ``count`` calls of the module bulk, a second apart."""
    with engine(database_url).begin() as connection:
        connection.execute(FILL, {"count": count})


def cells(body: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body.decode(), newline="")))


async def test_a_csv_has_a_header_quoted_cells_and_the_line_ends_of_its_standard(shared: Inside) -> None:
    entry = {
        "module": "told",
        "user_name": 'Bj\u00f6rn "B", the\r\n2nd',
        "client_ip": "10.1.2.3",
        "decision": "deny",
    }
    (written,) = await operations(shared.database_url, entry)

    answer = await shared.ask("GET", f"{EXPORT}?module=told")

    assert answer.header("content-type") == "text/csv; charset=utf-8"
    disposition = answer.header("content-disposition") or ""
    assert re.fullmatch(r'attachment; filename="operation-log-\d{8}T\d{6}Z\.csv"', disposition)
    head, _, rest = answer.body.decode().partition("\r\n")
    assert head.startswith('"id","createTime","requestId","userId",')
    assert rest.startswith(f'"{written}","2026-11-21T02:33:53.123Z","",""')
    assert rest.endswith('"\r\n')
    (row,) = cells(answer.body)
    assert row["userName"] == entry["user_name"]
    assert (row["clientIp"], row["status"], row["elapsedMs"], row["decision"], row["error"]) == (
        "10.1.2.3",
        "200",
        "3.25",
        "deny",
        "",
    )


@with_each(
    ("stored", "shown"),
    [
        *(
            (f"{sign}cmd|' /C calc'!A0", f"'{sign}cmd|' /C calc'!A0")
            for sign in ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
        ),
        ("=", "'="),
        ("'=1", "''=1"),
        ("x;=1", "x;=1"),
        ('","=1', '","=1'),
        (" =1", " =1"),
        ("a-b", "a-b"),
        ("\x1b[31m", "\x1b[31m"),
        ("\u2028", "\u2028"),
        ("", ""),
    ],
)
async def test_no_cell_is_a_formula_and_no_text_breaks_out_of_its_cell(
    shared: Inside, stored: str, shown: str
) -> None:
    request_id = secrets.token_hex(8)
    (written,) = await logins(
        shared.database_url,
        {"user_agent": stored, "user_name": stored, "reason": stored, "request_id": request_id},
    )

    as_csv = await shared.ask("GET", f"/api/login-log/export?requestId={request_id}")
    as_json = await shared.ask("GET", f"/api/login-log/export?requestId={request_id}&format=jsonl")

    (row,) = cells(as_csv.body)
    assert (row["id"], row["userAgent"], row["userName"], row["reason"]) == (str(written), *(shown,) * 3)
    (line,) = as_json.body.splitlines()
    assert json.loads(line)["userAgent"] == stored


async def test_json_lines_are_the_entries_of_the_list_one_a_line(shared: Inside) -> None:
    await operations(shared.database_url, *({"module": "lines", "url": f"/{n}\n"} for n in range(3)))

    answer = await shared.ask("GET", f"{EXPORT}?module=lines&format=jsonl&sort=createTime")
    listed = await shared.data("GET", "/api/operation-log/list?module=lines&sort=createTime")

    assert answer.header("content-type") == "application/jsonl"
    assert (answer.header("content-disposition") or "").endswith('.jsonl"')
    rows = [entry | {"changes": None} for entry in listed["items"]]
    assert [json.loads(line) for line in answer.body.splitlines()] == rows
    assert answer.body.endswith(b"}\n")
    as_json = await shared.ask("GET", f"{EXPORT}?module=lines&format=json&sort=createTime")
    assert (as_json.header("content-type"), as_json.json) == ("application/json", {"items": rows})


@pytest.mark.parametrize(("form", "length"), [("csv", 1), ("json", 1), ("jsonl", 0)])
async def test_an_export_of_nothing_is_a_file_without_rows(shared: Inside, form: str, length: int) -> None:
    answer = await shared.ask("GET", f"{EXPORT}?module=nothing&format={form}")
    assert (answer.status, len(answer.body.splitlines())) == (200, length)


@pytest.mark.parametrize(
    ("limit", "sort"),
    [
        *((limit, "createTime") for limit in (1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, 2 * BATCH + 7)),
        *((limit, "-createTime") for limit in (BATCH + 1, 1_000_000)),
    ],
)
async def test_an_export_has_the_first_entries_up_to_its_limit_each_once(
    bulk: Inside, limit: int, sort: str
) -> None:
    answer = await bulk.ask("GET", f"{EXPORT}?module=bulk&sort={sort}&limit={limit}")

    urls = [int(row["url"].rpartition("/")[2]) for row in cells(answer.body)]
    everything = list(range(1, 2 * BATCH + 1))
    assert urls == (everything if sort == "createTime" else everything[::-1])[:limit]


@pytest.fixture
async def bulk(shared: Inside) -> Inside:
    """A service with two batches of calls of the module bulk."""
    page = await shared.data("GET", "/api/operation-log/list?module=bulk")
    if not page["total"]:
        await asyncio.to_thread(fill, shared.database_url, 2 * BATCH)
    return shared


async def test_what_is_logged_during_an_export_neither_repeats_nor_displaces_entries(
    seeded_database_url: str,
) -> None:
    fill(seeded_database_url, 3 * BATCH)
    async with Database(seeded_database_url) as database:
        seen: list[int] = []
        reader = LogReader(database)
        async for batch in reader.everything(OPERATIONS, OperationFilter(module="bulk"), limit=10**6):
            seen += [entry.id for entry in batch]
            await operations(
                seeded_database_url, *({"module": "bulk", "create_time": at(n)} for n in range(10))
            )

    assert seen == list(range(3 * BATCH, 0, -1))


async def test_an_export_that_is_not_taken_holds_no_connection(seeded_database_url: str) -> None:
    fill(seeded_database_url, BATCH + 1)
    async with Database(seeded_database_url, pool_size=1) as database:
        reader = LogReader(database)
        waiting = [reader.everything(OPERATIONS, OperationFilter(), limit=10**6) for _ in range(3)]
        for batches in waiting:
            assert len(await anext(batches)) == BATCH
        await database.ping()
        for batches in waiting:
            assert len(await anext(batches)) == 1
            await batches.aclose()


async def test_readers_of_the_logs_leave_connections_to_others_and_are_refused_when_they_wait_too_long(
    seeded_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "PAGE_WITHIN", 1.0)
    database, other = Database(seeded_database_url, pool_size=3), Database(seeded_database_url)
    reader = LogReader(database, at_once=2)
    async with other.transaction(within=60) as connection:
        await connection.execute(text("LOCK TABLE sys.operation_log IN ACCESS EXCLUSIVE MODE"))
        exports = [reader.everything(OPERATIONS, OperationFilter(), limit=1) for _ in range(2)]
        stuck = [asyncio.ensure_future(anext(batches)) for batches in exports]
        await asyncio.sleep(0.1)
        await database.ping()
        with pytest.raises(Unavailable, match="Too many"):
            await reader.page(OPERATIONS, OperationFilter())
        await database.ping()
    assert [len(await batch) for batch in stuck] == [0, 0]
    assert (await reader.page(OPERATIONS, OperationFilter())).items == ()
    await database.close()
    await other.close()


class Row(Schema):
    a: int


async def test_the_source_of_an_export_is_closed_with_it() -> None:
    closed = []

    async def batches() -> AsyncGenerator[list[Row], None]:
        try:
            while True:
                yield [Row(1)]
        finally:
            closed.append(True)

    stream = export(batches(), Row, TableFormat("jsonl"), "x")
    assert await anext(stream.chunks) == b'{"a":1}\n'
    await stream.chunks.aclose()
    assert closed == [True]


@dataclass(frozen=True)
class Exporting:
    """A service of one worker on stores of its own with a long log, and the administrator as a client."""

    stores: EmbeddedStores
    service: Running
    client: httpx.Client


@pytest.fixture(scope="module")
def exporting(spare_stores: SpareStores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exporting]:
    with spare_stores.borrowed(seeded=True) as stores:
        fill(stores.database_url, MANY)
        variables = {"DATABASE_URL": stores.database_url, "REDIS_URL": stores.redis_url}
        secret = {"JWT_SECRET": secrets.token_urlsafe(48)}
        folder = tmp_path_factory.mktemp("exporting")
        with (
            running(folder, "--workers", "1", **variables, **secret) as service,
            service.client() as client,
        ):
            credentials = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
            token = client.post("/api/auth/login", json=credentials).json()["data"]["accessToken"]
            client.headers["Authorization"] = f"Bearer {token}"
            yield Exporting(stores, service, client)


def test_a_long_export_needs_little_memory_and_lets_other_requests_through(exporting: Exporting) -> None:
    (worker,) = exporting.service.workers
    client = exporting.client
    client.get(f"{EXPORT}?limit=2000").raise_for_status()
    most = before = kilobytes(worker, "Rss")
    lines = size = others = 0
    with client.stream("GET", f"{EXPORT}?module=bulk&limit={MANY}") as answer:
        for chunk in answer.iter_bytes(1 << 20):
            lines, size = lines + chunk.count(b"\r\n"), size + len(chunk)
            most = max(most, kilobytes(worker, "Rss"))
            others += client.get("/api/user/info").status_code == 200
    assert lines == MANY + 1
    assert size > 40_000_000
    assert others > 30
    assert most - before < 16_384, f"{before} kB became {most} kB"


def test_an_export_is_refused_when_the_database_is_away_and_cut_off_when_it_goes(
    exporting: Exporting,
) -> None:
    postgres, client, received = exporting.stores.postgres, exporting.client, b""
    with (  # noqa: PT012 - where it breaks off is the claim
        pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"),
        client.stream("GET", EXPORT) as answer,
    ):
        for chunk in answer.iter_raw(65_536):
            if not received:
                postgres.stop()
            received += chunk
    assert answer.status_code == 200
    assert 0 < received.count(b"\r\n") < MANY

    refused = client.get(EXPORT)
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
    assert "content-disposition" not in refused.headers

    postgres.start()
    assert client.get(f"{EXPORT}?limit=5").text.count("\r\n") == 6


LOSSES = {
    "disabled": ("PATCH", "/api/user/{id}", {"status": "disabled"}),
    "banned": ("POST", "/api/online/{id}/ban", {"reason": "a test"}),
    "without the right": ("PATCH", "/api/user/{id}", {"roleIds": []}),
    "kicked": ("DELETE", "/api/online/{id}", None),
}


@pytest.mark.parametrize("loss", [*LOSSES, None])
async def test_an_export_ends_when_its_caller_is_kept_out_or_loses_the_right(
    service: Inside, monkeypatch: pytest.MonkeyPatch, loss: str | None
) -> None:
    """But not when other rights of the caller change, for which tokens are refused as well."""
    monkeypatch.setattr(streams, "ASKED_EVERY", 0.0)
    monkeypatch.setattr(paging, "BATCH", 1)
    await asyncio.to_thread(fill, service.database_url, 3)
    code = ("system:operation-log:export",)
    [(button,)] = service.beside().execute("SELECT id FROM sys.menu WHERE auth_mark = %s", code)
    role = await service.data("POST", "/api/role", {"roleName": "Exporter", "roleCode": "exporter"})
    await service.data("PUT", f"/api/role/{role['id']}/permissions", {"menuIds": [button]})
    password = "four wary herons"
    person = {"userName": "exporter", "nickName": "E", "password": password, "roleIds": [role["id"]]}
    made = await service.data("POST", "/api/user", person)
    token = await service.log_in("exporter", password)

    async def lose() -> None:
        if loss is None:
            await service.data("PATCH", f"/api/user/{made['id']}", {"roleIds": [role["id"], 3]})
            return
        method, path, body = LOSSES[loss]
        answer = await service.ask(method, path.format(id=made["id"]), body)
        assert answer.status < 300, answer.body

    sent = ("Authorization", f"Bearer {token}")
    exporting = ask(service._app, "GET", f"{EXPORT}?module=bulk", sent, during=lose)
    if loss is None:
        assert len(cells((await exporting).body)) == 3
    else:
        with pytest.raises(Refusal):
            await exporting
