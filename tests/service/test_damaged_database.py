"""A database that takes no changes, or has lost its tables or rows: 503 for what needs it, and no write."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import structlog
from psycopg import sql

from tests.support.inside import Inside
from tests.support.inside_fixtures import service
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.without import is_off
from tests.web.driver import Answer

__all__ = ["service"]


READ_ONLY = "ALTER DATABASE {} SET default_transaction_read_only = {}"
FORM = ("Content-Type", "multipart/form-data; boundary=x")
FILE = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n'
ROLE = {"roleName": "New", "roleCode": "new"}
USER = {"userName": "newcomer", "nickName": "New", "password": "seven gentle ferrets"}
RESOURCE = {"resourceName": "R", "resourceCode": "r", "method": "GET", "path": "/api/x"}

WRITES: list[tuple[str, str, Any]] = [
    ("POST", "/api/role", ROLE),
    ("DELETE", "/api/role/2", None),
    ("PUT", "/api/role/2/permissions", {"menuIds": []}),
    ("POST", "/api/resource", RESOURCE),
    ("DELETE", "/api/resource/2", None),
    ("PUT", "/api/resource/2/buttons", {"menuIds": []}),
    ("POST", "/api/user", USER),
    ("PUT", "/api/user/profile", {"nickName": "Other"}),
    ("POST", "/api/file", FILE),
]
READS = [
    "/api/user/info",
    "/api/user/list",
    *(() if is_off("tables") else ("/api/user/export",)),
    "/api/role/list",
    "/api/role/2/permissions",
    "/api/resource/list",
    "/api/menu/mine",
    "/api/menu/list",
    "/api/operation-log/list",
    "/api/login-log/export",
    "/api/file/list",
]


@contextmanager
def administrator_of(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Change the database beside the service, whose connections end then; its tables' owner does it."""
    with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as connection:
        yield connection
        others = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        connection.execute(others + " AND datname = current_database()")


def make_read_only(connection: psycopg.Connection[Any], state: str) -> None:
    connection.execute(sql.SQL(READ_ONLY).format(sql.Identifier(connection.info.dbname), sql.SQL(state)))


def tables_of(connection: psycopg.Connection[Any]) -> list[sql.Identifier]:
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'sys'")
    return [sql.Identifier("sys", name) for (name,) in rows]


async def write(service: Inside, method: str, target: str, body: Any) -> Answer:
    if isinstance(body, bytes):
        return await service.ask_raw(method, target, body, FORM)
    return await service.ask(method, target, body)


def check_unavailable(answer: Answer, what: object) -> None:
    assert (answer.status, answer.code) == (503, "unavailable"), (what, answer.body)
    assert answer.header("retry-after") == "1"


def empty_tables(database_url: str) -> None:
    with administrator_of(database_url) as connection:
        connection.execute("CREATE TABLE public.kept AS TABLE sys.policy_revision")
        truncate = sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(tables_of(connection)))
        for _ in range(20):
            # The writer of the logs may be at work, and takes locks in another order.
            with suppress(psycopg.errors.DeadlockDetected):
                connection.execute(truncate)
                return
    raise AssertionError("the tables can't be emptied")


async def log_in(service: Inside) -> Answer:
    body = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
    return await service.ask("POST", "/api/auth/login", body)


async def check_writes(service: Inside) -> None:
    for method, target, body in WRITES:
        check_unavailable(await write(service, method, target, body), (method, target))


async def check_reads_and_logins(service: Inside) -> None:
    for target in READS:
        check_unavailable(await service.ask("GET", target), target)
    check_unavailable(await log_in(service), "login")


async def test_a_read_only_database_is_read_and_takes_no_write(service: Inside) -> None:
    with administrator_of(service.database_url) as connection:
        make_read_only(connection, "on")
    with structlog.testing.capture_logs() as lines:
        for target in READS:  # snapshots among them, after which connections are used again
            assert (await service.ask("GET", target)).status == 200, target
        await check_writes(service)
        assert (await log_in(service)).status == 200
    causes = {line["reason"] for line in lines if line["event"] == "the database fails"}
    assert "ReadOnlySqlTransaction: cannot execute INSERT in a read-only transaction" in causes
    with administrator_of(service.database_url) as connection:
        make_read_only(connection, "off")
    await check_recovered(service)


async def test_a_database_without_its_tables_is_unavailable_until_they_are_back(service: Inside) -> None:
    with administrator_of(service.database_url) as connection:
        connection.execute("ALTER SCHEMA sys RENAME TO lost")
    with structlog.testing.capture_logs() as lines:
        await check_reads_and_logins(service)
        await check_writes(service)
    causes = {line["reason"] for line in lines if line["event"] == "the database fails"}
    assert 'UndefinedTable: relation "sys.user" does not exist' in causes
    with administrator_of(service.database_url) as connection:
        connection.execute("ALTER SCHEMA lost RENAME TO sys")
    await check_recovered(service)


async def test_a_database_without_its_rows_is_unavailable_until_they_are_back(service: Inside) -> None:
    await asyncio.to_thread(empty_tables, service.database_url)  # which waits for what reads them now
    await until(service, 503)
    await check_reads_and_logins(service)
    await check_writes(service)
    with administrator_of(service.database_url) as connection:
        for table in ("role", "resource", "user", "file", "policy_revision", "casbin_rule"):
            count = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("sys", table))
            assert connection.execute(count).fetchone() == (0,), table
        connection.execute("INSERT INTO sys.policy_revision TABLE public.kept")
    await until(service, 200)


async def test_a_policy_is_not_published_below_the_one_in_force(service: Inside) -> None:
    """As in a database that was restored from a backup: workers would keep the lost revision in force."""
    bound = await service.data("PUT", "/api/resource/2/buttons", {"menuIds": []})
    with administrator_of(service.database_url) as connection:
        connection.execute("DELETE FROM sys.policy_revision WHERE revision > 1")
    check_unavailable(await service.ask("POST", "/api/resource", RESOURCE), "resource")
    with administrator_of(service.database_url) as connection:
        row = connection.execute(
            "SELECT max(revision), (SELECT count(*) FROM sys.resource WHERE path = '/api/x')"
            " FROM sys.policy_revision"
        ).fetchone()
    assert (bound["policyRevision"], row) == (2, (1, 0))


async def check_recovered(service: Inside) -> None:
    service.token = await service.log_in()
    assert (await service.ask("POST", "/api/role", ROLE)).status == 201


async def until(service: Inside, status: int) -> None:
    """Return once reading roles is answered with ``status``; the watch looks twice a second."""
    async with asyncio.timeout(20):
        while (await service.ask("GET", "/api/role/list")).status != status:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.02)
