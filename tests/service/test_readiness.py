"""Ready means: users can log in, be authorized, and read and write. What is lost beside that degrades."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from structlog.testing import capture_logs

from service import __version__
from service.features.embedded.stores import EmbeddedStores
from service.web.observability import readiness
from tests.support.databases import database
from tests.support.inside import Inside, inside

pytestmark = pytest.mark.anyio

TOKEN = "mX3-" * 8
OPERATOR = ("Authorization", f"Bearer {TOKEN}")
PARTS = (
    "database",
    "sessions",
    "policy",
    "clock",
    "files",
    "logs",
    "jobs",
    "disk",
    "certificates",
    "proxy",
)


class Site:
    """A service on a session store and a data directory of its own."""

    def __init__(self, service: Inside, redis_url: str, data: Path) -> None:
        self.service = service
        self.redis_url = redis_url
        self.data = data

    def tell_database(self, statement: str) -> None:
        """Run ``statement`` with the name of the database for {}, and end the service's connections."""
        with psycopg.connect(self.service.database_url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(statement.format(connection.info.dbname).encode())
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    async def becomes(self, status: int, *headers: tuple[str, str], **states: str) -> dict[str, Any]:
        """Return the first answer with ``status`` and these states of parts; AssertionError without one."""
        for _ in range(200):
            answer = await self.service.as_anonymous("GET", "/health/ready", *headers)
            document: dict[str, Any] = answer.json.get("data", answer.json)
            if answer.status == status and states.items() <= document["parts"].items():
                return document
            await asyncio.sleep(0.1)
        raise AssertionError(answer)


@pytest.fixture(scope="module")
async def site(stores: EmbeddedStores, seeded_template: str) -> AsyncIterator[Site]:
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        EmbeddedStores(Path(folder) / "stores", durable=False, with_postgres=False) as own,
        database(stores, seeded_template) as url,
    ):
        variables = {
            "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN,
            "PORTCULLIS_SERVER__DATA": f"{folder}/data",
        }
        patch.setattr(readiness, "EVERY", 0.1)
        async with inside(url, own.redis_url, **variables) as service:
            yield Site(service, own.redis_url, Path(folder) / "data")


async def test_a_stranger_reads_words_and_the_operator_reads_the_details(site: Site) -> None:
    ready = await site.becomes(200, **dict.fromkeys(PARTS, "up"))
    assert ready == {"status": "ready", "parts": dict.fromkeys(PARTS, "up")}

    answer = await site.service.as_anonymous("GET", "/health/ready", OPERATOR)
    details = answer.json["data"]["details"]
    assert details["version"] == __version__
    assert details["policy"] == {"revision": 1, "fault": None, "untrusted": None}
    assert [worker["revision"] for worker in details["workers"]] == [1]
    assert details["workers"][0]["worker"] == details["worker"]
    assert abs(details["clock"]["offset"]) < 1
    assert details["logs"]["accepted"] >= 0
    assert int(details["database"]["version"].split(".")[0]) >= 17
    assert details["files"]["store"].endswith("data/files")

    with_access_token = await site.service.ask("GET", "/health/ready")
    assert "details" not in with_access_token.json["data"]


async def test_a_database_that_refuses_writes_makes_it_not_ready(site: Site) -> None:
    with capture_logs():
        site.tell_database('ALTER DATABASE "{}" SET default_transaction_read_only = on')
        await site.becomes(503, database="read_only", sessions="up")
        site.tell_database('ALTER DATABASE "{}" RESET default_transaction_read_only')
        await site.becomes(200, database="up")


async def test_a_database_without_tables_makes_it_not_ready(site: Site) -> None:
    with capture_logs():
        site.tell_database("ALTER SCHEMA sys RENAME TO elsewhere")
        for _ in range(200):
            unready = await site.becomes(503, OPERATOR, database="down", sessions="up")
            if "missing" in unready["details"]["database"]:  # the connections that were ended are replaced
                break
            await asyncio.sleep(0.1)
        assert "sys.user" in unready["details"]["database"]["missing"]
        site.tell_database("ALTER SCHEMA elsewhere RENAME TO sys")
        await site.becomes(200, database="up")


@pytest.mark.parametrize(
    ("refuse", "accept"),
    [
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
        ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
    ],
)
async def test_a_session_store_that_refuses_writes_makes_it_not_ready(
    site: Site, refuse: str, accept: str
) -> None:
    with capture_logs(), redis.Redis.from_url(site.redis_url) as store:
        store.execute_command(*refuse.split())
        await site.becomes(503, sessions="read_only", database="up")
        store.execute_command(*accept.split())
        await site.becomes(200, sessions="up")


async def test_files_that_are_out_of_reach_leave_it_ready(site: Site) -> None:
    folder = site.data / "files"
    with capture_logs():
        shutil.rmtree(folder)
        folder.touch()
        assert (await site.becomes(200, files="down"))["status"] == "degraded"
        folder.unlink()
        folder.mkdir()
        # Other parts may have met what the tests before have broken, and follow a moment later.
        assert (await site.becomes(200, **dict.fromkeys(PARTS, "up")))["status"] == "ready"
