"""Each filter of a log has an index in the order of time, and times leave partitions out.

Whether the planner prefers it at ten million entries is measured by the benchmark ``logs``.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, text

from service.features.embedded.stores import EmbeddedStores
from service.features.log_reading.store_paging import Log, Position, Span
from service.features.log_reading.store_queries import LOGINS, OPERATIONS, LoginFilter, OperationFilter
from service.records.database.transactions import engine
from service.records.installation.migrate import migrate
from tests.log_reading.entries import at
from tests.support.cases import with_each
from tests.support.databases import database

MONTH = (
    "CREATE TABLE sys.{log}_2026_{month} PARTITION OF sys.{log}"
    " FOR VALUES FROM ('2026-{month}-01 00:00Z') TO ('2026-{following}-01 00:00Z')"
)
FILL_OPERATIONS = """
INSERT INTO sys.operation_log (create_time, event_id, request_id, user_id, user_name, module, action, kind,
    method, url, client_ip, status, elapsed_ms, decision, targets, query, changes)
SELECT timestamptz '2026-09-01Z' + interval '650 seconds' * n, gen_random_uuid(), md5(n::text), n % 500,
    'user' || n % 500, 'm' || n % 300, 'a', 'k' || n % 3000, 'GET', '/', inet '10.0.0.0' + n,
    CASE WHEN n % 100 = 0 THEN 403 ELSE 200 END, 1, CASE WHEN n % 100 = 0 THEN 'deny' ELSE 'allow' END,
    CASE WHEN n % 10 = 0 THEN ARRAY['role:r' || n % 3000, 'user:u' || n] END,
    CASE WHEN n % 100 = 7 THEN 'dryRun=true' END,
    CASE WHEN n % 100 = 9 THEN '[{"field": "roles"}]' WHEN n % 10 = 1 THEN '[{"field": "email"}]' END::jsonb
FROM generate_series(1, 8000) n
"""
FILL_LOGINS = """
INSERT INTO sys.login_log (create_time, event_id, request_id, event, outcome, reason, user_id, user_name,
    device, login_ip)
SELECT timestamptz '2026-09-01Z' + interval '650 seconds' * n, gen_random_uuid(), md5(n::text),
    'e' || n % 3000,
    CASE WHEN n % 100 = 0 THEN 'failure' ELSE 'success' END, CASE WHEN n % 100 = 0 THEN 'r' || n END,
    n % 500, 'user' || n % 500, 'd' || n % 300, inet '10.0.0.0' + n
FROM generate_series(1, 8000) n
"""


@pytest.fixture(scope="module")
def connection(stores: EmbeddedStores) -> Iterator[Connection]:
    """A database with three months of entries and no others; the default partitions are empty."""
    with database(stores) as url:
        migrate(url, ())
        yield from _filled(url)


def _filled(url: str) -> Iterator[Connection]:
    with engine(url).begin() as opened:
        for log in ("operation_log", "login_log"):
            for month in (9, 10, 11):
                bounds = {"log": log, "month": f"{month:02d}", "following": f"{month + 1:02d}"}
                opened.execute(text(MONTH.format(**bounds)))
        opened.execute(text(FILL_OPERATIONS))
        opened.execute(text(FILL_LOGINS))
        opened.execute(text("ANALYZE sys.operation_log, sys.login_log"))
        opened.execute(text("SET enable_seqscan = off"))
        yield opened


def scans(connection: Connection, log: Log[Any, Any], criteria: Any, position: Position | None = None) -> Any:
    """Return the scans of the plan of a page: node type, index and table of each."""
    statement = log.statement(criteria, position, 21, newest_first=True)
    compiled = statement.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True})
    explain = f"EXPLAIN (FORMAT JSON) {compiled}"
    (plan,) = connection.exec_driver_sql(explain, compiled.construct_params()).scalar_one()
    return list(_scans(plan["Plan"]))


def _scans(node: Any) -> Iterator[tuple[str, str, str]]:
    if "Scan" in node["Node Type"]:
        yield node["Node Type"], node.get("Index Name", ""), node.get("Relation Name", "")
    for below in node.get("Plans", ()):
        yield from _scans(below)


INDEXED = {"Index Scan", "Index Only Scan", "Bitmap Index Scan", "Bitmap Heap Scan"}
SEPTEMBER = Span(at(-70 * 86_400), at(-60 * 86_400))


@with_each(
    ("log", "criteria", "columns"),
    [
        (OPERATIONS, OperationFilter(), ("create_time_id",)),
        (OPERATIONS, OperationFilter(user_id=7), ("user_id_create_time",)),
        (OPERATIONS, OperationFilter(user_name="user7"), ("user_name_create_time",)),
        (OPERATIONS, OperationFilter(module="m7"), ("module_create_time",)),
        (OPERATIONS, OperationFilter(kind=["k7"]), ("kind_create_time",)),
        (OPERATIONS, OperationFilter(kind=["k7", "k9"]), ("kind_create_time",)),
        (OPERATIONS, OperationFilter(status=[(403, 403)]), ("failed",)),
        (OPERATIONS, OperationFilter(status=[(500, 599)]), ("failed",)),
        (OPERATIONS, OperationFilter(decision=["deny"]), ("denied",)),
        (OPERATIONS, OperationFilter(client_ip="10.0.1.7"), ("client_ip_create_time",)),
        (OPERATIONS, OperationFilter(client_ip="10.0.1.0/28"), ("client_ip_create_time",)),
        (OPERATIONS, OperationFilter(request_id="x"), ("request_id",)),
        (OPERATIONS, OperationFilter(target="role:r10"), ("targets",)),
        (OPERATIONS, OperationFilter(dry_run=True), ("preview",)),
        (OPERATIONS, OperationFilter(dry_run=False), ("create_time_id",)),
        (OPERATIONS, OperationFilter(rights=True), ("rights",)),
        (OPERATIONS, OperationFilter(rights=False), ("create_time_id",)),
        (LOGINS, LoginFilter(), ("create_time_id",)),
        (LOGINS, LoginFilter(user_id=7), ("user_id_create_time",)),
        (LOGINS, LoginFilter(user_name="user7"), ("user_name_create_time",)),
        (LOGINS, LoginFilter(event=["e7"]), ("event_create_time",)),
        (LOGINS, LoginFilter(event=["e7", "e9"]), ("event_create_time",)),
        (LOGINS, LoginFilter(outcome=["failure"]), ("failed",)),
        (LOGINS, LoginFilter(reason="r100"), ("reason_create_time",)),
        (LOGINS, LoginFilter(device="d7"), ("device_create_time",)),
        (LOGINS, LoginFilter(login_ip="10.0.1.7"), ("login_ip_create_time",)),
        (LOGINS, LoginFilter(login_ip="10.0.1.0/28"), ("login_ip_create_time",)),
        (LOGINS, LoginFilter(request_id="x"), ("request_id",)),
    ],
)
def test_each_filter_has_an_index_of_its_own(
    connection: Connection, log: Log[Any, Any], criteria: Any, columns: tuple[str]
) -> None:
    nodes = scans(connection, log, criteria)

    assert {node for node, _, _ in nodes} <= INDEXED
    ordered = [index for _, index, _ in nodes if "2026_10" in index]
    assert ordered, nodes
    table = "operation_log" if log is OPERATIONS else "login_log"
    assert indexes(connection, ordered) == {f"{table}_{columns[0]}_idx"}


def indexes(connection: Connection, partitions: list[str]) -> set[str]:
    """Return the indexes of the whole table that those of its partitions belong to."""
    query = text(
        "SELECT whole.relname FROM pg_inherits JOIN pg_class whole ON whole.oid = inhparent"
        " JOIN pg_class part ON part.oid = inhrelid WHERE part.relname = ANY(:names)"
    )
    return {name for (name,) in connection.execute(query, {"names": partitions})}


@with_each(
    ("criteria", "position", "months"),
    [
        (OperationFilter(span=SEPTEMBER), None, {"2026_09", "default"}),
        (OperationFilter(span=SEPTEMBER, user_id=7), None, {"2026_09", "default"}),
        (OperationFilter(), Position(at(-30 * 86_400), 9, True), {"2026_09", "2026_10", "default"}),
        (OperationFilter(), Position(at(-30 * 86_400), 9, False), {"2026_10", "2026_11", "default"}),
    ],
)
def test_times_and_cursors_leave_partitions_out(
    connection: Connection, criteria: OperationFilter, position: Position | None, months: set[str]
) -> None:
    nodes = scans(connection, OPERATIONS, criteria, position)
    tables = {table for node, _, table in nodes if node != "Bitmap Index Scan"}
    assert tables <= {f"operation_log_{month}" for month in months}
    assert f"operation_log_{min(months)}" in tables


def test_a_cursor_is_a_place_in_the_index_and_no_entry_before_it_is_read(connection: Connection) -> None:
    position = Position(at(-30 * 86_400), 9, True)
    statement = OPERATIONS.statement(OperationFilter(), position, 21, newest_first=True)
    compiled = statement.compile(dialect=connection.dialect)
    explain = f"EXPLAIN (ANALYZE, FORMAT JSON) {compiled}"
    (plan,) = connection.exec_driver_sql(explain, compiled.construct_params()).scalar_one()
    assert "Rows Removed by Filter" not in str(plan)
    assert plan["Plan"]["Actual Rows"] == 21
