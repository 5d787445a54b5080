"""Erasures as an operator sees them: by the command, and while workers are killed; the logs verify."""

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import pytest

from tests.service.callers import PASSWORD, log_in
from tests.service.conftest import variables_for
from tests.support.databases import NewDatabase
from tests.support.running import PATIENT, Ended, Running, portcullis, running
from tests.support.waiting import eventually

REASON: Final = "Request of 12 November"
NAMES: Final = {"userName": "tarrock", "nickName": "Tar Rock", "email": "t.rock@zyxmail.example"}
WAITS: Final = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ 'UPDATE sys."job"'
"""
LEFT: Final = """
    SELECT 'operation_log' FROM sys.operation_log WHERE operation_log::text ~* %(names)s
    UNION ALL SELECT 'login_log' FROM sys.login_log WHERE login_log::text ~* %(names)s
    UNION ALL SELECT 'job' FROM sys.job WHERE job::text ~* %(names)s
    UNION ALL SELECT 'role' FROM sys.role WHERE role::text ~* %(names)s
    UNION ALL SELECT 'user' FROM sys."user" WHERE "user"::text ~* %(names)s
"""
PATTERN: Final = {"names": "tarrock|tar rock|zyxmail"}


@dataclass
class Site:
    """A service of two workers, a superuser's connection to its database, and a person in tables and logs."""

    folder: Path
    variables: dict[str, str]
    service: Running
    connection: psycopg.Connection[Any]
    client: httpx.Client
    user_id: int

    def command(self, *arguments: str) -> Ended:
        """Run a command of the operator."""
        return portcullis(self.folder, *arguments, **self.variables)

    def left(self) -> set[str]:
        """Return the tables that have a value of the person."""
        return {table for (table,) in self.connection.execute(LEFT.encode(), PATTERN)}

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Return the rows of a statement."""
        return self.connection.execute(statement.encode(), values).fetchall()

    def require_verified(self) -> None:
        """Verify the logs, with entries of today in both."""
        verified = self.command("audit", "verify")
        assert verified.status == 0, verified
        lines = verified.output.splitlines()
        for log in ("operation_log", "login_log"):
            assert [line for line in lines if line.startswith(log) and line.endswith(", unchanged")], lines


@pytest.fixture
def site(
    new_database: NewDatabase, published_template: str, redis_url: str, tmp_path: Path
) -> Iterator[Site]:
    url = new_database(published_template)
    variables = variables_for(url, redis_url) | PATIENT | {"PORTCULLIS_OPLOG__CHAIN_KEY": "k" * 40}
    with (
        running(tmp_path, "--workers", "2", **variables) as service,
        psycopg.connect(url, autocommit=True) as connection,
        service.client() as client,
    ):
        client.headers.update(log_in(client))
        made = client.post("/api/user", json={**NAMES, "password": PASSWORD})
        assert made.status_code == 201, made.text
        user_id: int = made.json()["data"]["id"]
        for password in ("wrong", PASSWORD):
            client.post("/api/auth/login", json={"userName": NAMES["userName"], "password": password})
        role = {"roleName": "Books", "roleCode": "books", "description": f"Asked for by {NAMES['nickName']}"}
        assert client.post("/api/role", json=role).status_code == 201
        connection.execute("INSERT INTO sys.job (job_name, requested_by) VALUES ('tar', 'tarrock')")
        there = Site(tmp_path, variables, service, connection, client, user_id)
        entries = "SELECT count(*) FROM sys.login_log WHERE user_name = 'tarrock'"
        assert eventually(lambda: there.rows(entries) == [(2,)])
        entries = "SELECT count(*) FROM sys.operation_log WHERE url = '/api/role'"
        assert eventually(lambda: there.rows(entries) == [(1,)])
        yield there


def test_the_command_erases_a_person_and_the_logs_verify_before_and_after(site: Site) -> None:
    site.require_verified()
    entries = site.rows("SELECT count(*) FROM sys.login_log")
    words = ("user", "erase", NAMES["userName"])
    preview = site.command(*words)
    assert preview.status == 0, preview
    assert {*NAMES.values()} <= {line.strip() for line in preview.output.splitlines()}
    assert "Nothing was erased" in preview.output
    refused = site.command(*words, "--reason", f"Asked by {NAMES['nickName']}", "--yes")
    assert (refused.status, site.left()) == (1, {"operation_log", "login_log", "job", "role", "user"}), (
        refused
    )

    erased = site.command(*words, "--reason", REASON, "--yes")
    assert erased.status == 0, erased
    assert erased.output.startswith(f"User #{site.user_id} is erased: ")
    assert site.left() == {"operation_log"}, "the description of the role, which the log has chained plainly"
    plain = "SELECT DISTINCT url FROM sys.operation_log WHERE operation_log::text ~* %s"
    assert site.rows(plain, PATTERN["names"]) == [("/api/role",)]
    assert site.rows("SELECT count(*) FROM sys.login_log") >= entries, "entries stay"
    site.require_verified()
    denied = site.client.post("/api/auth/login", json={"userName": NAMES["userName"], "password": PASSWORD})
    assert denied.status_code == 401
    again = site.command("user", "erase", f"#{site.user_id}", "--reason", REASON, "--yes")
    assert (again.status, "0 rows changed" in again.output) == (0, True), again
    assert site.command("user", "erase", NAMES["userName"]).status == 1
    site.require_verified()


def test_an_erasure_whose_worker_is_killed_is_completed_by_the_job(site: Site) -> None:
    path = f"/api/user/{site.user_id}/erasure"
    tag = site.client.get(path).headers["etag"]
    answers: list[object] = []

    def erase() -> None:
        try:
            answers.append(site.client.post(path, json={"reason": REASON}, headers={"If-Match": tag}))
        except httpx.TransportError as error:
            answers.append(error)

    with psycopg.connect(site.variables["DATABASE_URL"]) as holding:
        holding.execute("SELECT FROM sys.job WHERE job_name = 'tar' FOR UPDATE")
        request = threading.Thread(target=erase)
        request.start()
        assert eventually(lambda: site.rows(WAITS) == [(1,)]), "a pass waits at the row"
        killed = site.service.workers
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        request.join(30)
        assert [type(answer) for answer in answers] == [httpx.RemoteProtocolError]
        assert site.left() == {"operation_log", "login_log", "job", "role"}, "only the account is deleted"
    # Requests in flight are given their time once more; the erasure ends at the first pass without a value.
    site.connection.execute("UPDATE sys.erasure SET begin_time = now() - interval '11 minutes'")
    ended = "SELECT user_id FROM sys.erasure WHERE end_time IS NOT NULL AND names IS NULL"
    assert eventually(lambda: site.rows(ended) == [(site.user_id,)], patience=150)
    assert not {*killed} & {*site.service.workers}
    assert site.left() == {"operation_log"}
    site.require_verified()
