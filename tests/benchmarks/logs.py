"""What a page of a log of a million calls costs, against one of ten thousand, filter by filter.

Both logs are in one server, and their pages are read in turn, so that a machine whose speed drifts does no
harm. The plan of each page is looked at as well: a sequential scan is named, however fast it was.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final

import psycopg
import uvloop

from service.features.embedded.stores import EmbeddedStores
from service.features.log_reading.store_paging import Position, Span
from service.features.log_reading.store_queries import OPERATIONS, OperationFilter
from service.records.database.transactions import Database, engine
from tests.benchmarks.frame.results import Note, Pace, Result, at_most, result
from tests.support.seeded import seed_database

SHORT, LONG = 10_000, int(os.environ.get("PORTCULLIS_BENCH_LOGS", "1000000"))
"""How many calls each log has; the variable is for longer logs, which take minutes to make."""
BATCH, READS, WRITTEN = 1_000_000, 3, 50_000
LIMIT = 3.0
CHARTED = {"everything", "one user", "a rare kind", "a record", "status 5xx", "one address", "nothing"}
"""Pages that the charts show."""
FIRST = datetime(2025, 12, 1, tzinfo=UTC)
YEAR = 365 * 86_400  # seconds, over which the calls of both logs are spread
SIZE = 20

FILL = """
INSERT INTO sys.operation_log (create_time, event_id, request_id, user_id, user_name, device, module, action,
    kind, method, url, client_ip, user_agent, status, error, elapsed_ms, decision, decision_id,
    policy_revision, targets)
SELECT timestamptz '2025-12-01Z' + interval '1 second' * ({year}::float8 * n / {all}), uuidv7(), md5(n::text),
    n % 997, 'user' || n % 997, 'web',
    CASE WHEN n % 50021 = 0 THEN 'policy' ELSE (ARRAY['user', 'role', 'menu', 'file', 'auth'])[1 + n % 5] END,
    'create', CASE WHEN n % 70001 = 0 THEN 'BAN' ELSE (ARRAY['INSERT', 'UPDATE', 'DELETE'])[1 + n % 3] END,
    'POST', '/api/thing/' || n, inet '10.0.0.0' + n % 65521, 'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0',
    CASE WHEN n % 2003 = 0 THEN 500 WHEN n % 53 = 0 THEN 403 ELSE 200 END,
    CASE WHEN n % 53 = 0 THEN 'permission_denied' END, 3.5,
    CASE WHEN n % 53 = 0 THEN 'deny' ELSE 'allow' END, 'r12-9be1a6f0-5f0c39d1a2b4', 12,
    CASE WHEN n % 50021 = 0 THEN ARRAY['role:auditor'] WHEN n % 20 = 0 THEN ARRAY['user:u' || n % 9973] END
FROM generate_series({first}, {last}) n
"""
INDEXES = """
SELECT indexname, replace(indexdef, 'ON ONLY', 'ON') FROM pg_indexes
WHERE schemaname = 'sys' AND tablename = 'operation_log' AND indexname LIKE '%_idx'
"""
READING: Final = (
    "operation_log_user_name_create_time_idx",
    "operation_log_module_create_time_idx",
    "operation_log_kind_create_time_idx",
    "operation_log_failed_idx",
    "operation_log_denied_idx",
    "operation_log_targets_idx",
)
"""The indexes that only these filters need."""

AUTUMN = Span(datetime(2026, 9, 1, tzinfo=UTC), datetime(2026, 9, 2, tzinfo=UTC))
PAGES: Final[dict[str, OperationFilter]] = {
    "everything": OperationFilter(),
    "one user": OperationFilter(user_id=7),
    "one user's name": OperationFilter(user_name="user7"),
    "a busy module": OperationFilter(module="role"),
    "a rare module": OperationFilter(module="policy"),
    "a rare kind": OperationFilter(kind=["BAN"]),
    "two kinds": OperationFilter(kind=["INSERT", "BAN"]),
    "two rare kinds": OperationFilter(kind=["BAN", "KICK"]),
    "a record": OperationFilter(target="role:auditor"),
    "a record nobody touched": OperationFilter(target="role:nobody"),
    "status 403": OperationFilter(status=[(403, 403)]),
    "status 4xx": OperationFilter(status=[(400, 499)]),
    "status 5xx": OperationFilter(status=[(500, 599)]),
    "denied": OperationFilter(decision=["deny"]),
    "one address": OperationFilter(client_ip="10.0.3.7"),
    "a network": OperationFilter(client_ip="10.0.3.0/28"),
    "a request id": OperationFilter(request_id="c4ca4238a0b923820dcc509a6f75849b"),
    "a day of a user": OperationFilter(user_id=7, span=AUTUMN),
    "nothing": OperationFilter(module="nothing", status=[(200, 200)]),
}


def main(pace: Pace) -> Iterator[Result | Note]:
    """Yield the milliseconds of each page on both logs, and what the indexes cost writers."""
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        EmbeddedStores(Path(folder), durable=False, with_valkey=False) as stores,
    ):
        long_url, short_url = stores.database_url, stores.url_of("short")
        with psycopg.connect(stores.url_of("postgres", administrator=True), autocommit=True) as connection:
            connection.execute("CREATE DATABASE short OWNER portcullis")
        for url, size in ((short_url, SHORT), (long_url, LONG)):
            seed_database(url)
            yield _fill(url, size)
        yield from uvloop.run(_pages(short_url, long_url, pace.rounds))
        yield from _writes(long_url)


def _fill(url: str, size: int) -> Note:
    """Make a partition for each month and fill them; indexes are made afterwards, which is faster."""
    start = time.perf_counter()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET maintenance_work_mem = '512MB'")
        for month in range(12):
            begin, end = ((FIRST + timedelta(days=31 * n)).replace(day=1) for n in (month, month + 1))
            connection.execute(
                f"CREATE TABLE sys.operation_log_{begin:%Y_%m} PARTITION OF sys.operation_log"
                f" FOR VALUES FROM ('{begin:%Y-%m-%dZ}') TO ('{end:%Y-%m-%dZ}')"
            )
        indexes = connection.execute(INDEXES).fetchall()
        for name, _ in indexes:
            connection.execute(f"DROP INDEX sys.{name}")
        for first in range(1, size + 1, BATCH):
            last = min(first + BATCH - 1, size)
            connection.execute(FILL.format(year=YEAR, all=size, first=first, last=last))
        for _, definition in indexes:
            connection.execute(definition)
        connection.execute("VACUUM ANALYZE sys.operation_log")
        ((bytes_,),) = connection.execute("SELECT pg_database_size(current_database())").fetchall()
    took = time.perf_counter() - start
    return Note(f"{size:,} calls over a year have {bytes_ / 1e6:,.0f} MB, made in {took:.0f} s.")


async def _pages(short_url: str, long_url: str, rounds: int) -> list[Result | Note]:
    databases = [Database(url, timeout=60.0) for url in (short_url, long_url)]
    results: list[Result | Note] = []
    for name, criteria in PAGES.items():
        for database in databases:  # what is measured comes from the cache, as pages that are looked at do
            await _time(database, criteria, None)
        for kind, position in (
            ("with its total", None),
            ("by cursor", Position(FIRST + timedelta(days=180), 1, True)),
        ):
            pairs = [
                [await _middle(database, criteria, position) for database in databases] for _ in range(rounds)
            ]
            short, long = zip(*pairs, strict=True)
            results.append(
                result(
                    f"{name}, {kind}",
                    "ms",
                    long,
                    against=result(f"the same of {SHORT:,}", "ms", short),
                    goals=[at_most(LIMIT, "ratio")],
                    chart=f"A page of a log of {LONG:,} calls, {kind}" if name in CHARTED else "",
                )
            )
        results += [Note(f"{name}: the plan has a {fault}") for fault in _faults(long_url, criteria)]
    for database in databases:
        await database.close()
    return results


async def _middle(database: Database, criteria: OperationFilter, position: Position | None) -> float:
    """Return the median milliseconds of ``READS``."""
    return median([await _time(database, criteria, position) for _ in range(READS)])


async def _time(database: Database, criteria: OperationFilter, position: Position | None) -> float:
    start = time.perf_counter()
    async with database.snapshot() as connection:
        if position is None:
            await OPERATIONS.page(connection, criteria, page=1, size=SIZE)
        else:
            await OPERATIONS.after(connection, criteria, position, size=SIZE)
    await asyncio.sleep(0)
    return (time.perf_counter() - start) * 1000


def _faults(url: str, criteria: OperationFilter) -> set[str]:
    """Return the scans of the plan that use no index, on tables that have entries."""
    statement = OPERATIONS.statement(criteria, None, SIZE + 1, newest_first=True)
    with engine(url).connect() as connection:
        compiled = statement.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True})
        explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {compiled}"
        (plan,) = connection.exec_driver_sql(explain, compiled.construct_params()).scalar_one()
    return {
        f"{node['Node Type']} of {node['Relation Name']}"
        for node in _nodes(plan["Plan"])
        if node["Node Type"] == "Seq Scan" and not node["Relation Name"].endswith("_default")
    }


def _nodes(node: Any) -> list[Any]:
    return [node, *(below for child in node.get("Plans", ()) for below in _nodes(child))]


def _writes(url: str) -> Iterator[Result]:
    """Yield what an entry costs the database without the indexes for these filters, and with them."""
    fill = FILL.format(year=YEAR, all=WRITTEN, first=1, last=WRITTEN)
    costs: dict[bool, list[float]] = {False: [], True: []}
    with psycopg.connect(url) as connection:
        for without in (False, True) * 3:
            if without:
                connection.execute(f"DROP INDEX {', '.join(f'sys.{name}' for name in READING)}")
            start = time.perf_counter()
            connection.execute(fill)
            costs[without].append((time.perf_counter() - start) / WRITTEN * 1e6)
            connection.rollback()
    fewer = result(f"an entry written without the {len(READING)} indexes of filters", "µs", costs[True])
    yield fewer
    yield result("an entry written", "µs", costs[False], against=fewer)
