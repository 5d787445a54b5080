"""Workers, stores and whole services that stop under load: what is missing, and what is told of it."""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from service.audit.journal import Journal
from service.audit.key_chain import Chain
from service.features.audit_proof.days import Audit
from service.features.embedded.stores import EmbeddedStores
from service.keyspace import LogCounts
from tests.audit import emitter
from tests.audit.conftest import Place, operation, place_at, until
from tests.support.forks import forks
from tests.support.running import portcullis, running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.spare import SpareStores
from tests.support.waiting import eventually

LOST_AT_KILL = 0.1  # seconds before the end
BUSY_MACHINE = 1.0  # seconds that a machine with other things to do may add


@pytest.fixture(scope="module")
def durable(spare_stores: SpareStores) -> Iterator[EmbeddedStores]:
    """Stores that may be stopped; what was written survives that."""
    with spare_stores.borrowed(seeded=True) as both:
        yield both


@pytest.fixture
async def fragile(durable: EmbeddedStores) -> AsyncIterator[Place]:
    """A place on such stores, which run again when the test has ended."""
    async with place_at(durable.database_url, durable.redis_url) as place:
        yield place
    durable.postgres.start()
    durable.valkey.start()


class Emitter:
    """A worker in a process of its own that logs without a pause."""

    def __init__(self, name: str, place: Place, folder: Path) -> None:
        self.name = name
        self._out, self._err = folder / f"{name}.out", folder / f"{name}.err"
        self._out.touch()
        arguments = (self._out, self._err, name, place.database_url, place.redis_url)
        self.process = forks().Process(target=emitter.run, args=arguments)
        self.process.start()

    @property
    def accepted(self) -> dict[str, float]:
        """The actions that were accepted, and when."""
        lines = self._out.read_text().splitlines(keepends=True)
        # The journal's own log lines stand between.
        words = [line.split() for line in lines if line.endswith("\n") and line[0].isdigit()]
        return {f"{self.name} {fields[0]}": float(fields[1]) for fields in words if fields[0].isdigit()}

    def wait_for(self, count: int) -> None:
        """Return when so many entries were accepted."""
        assert eventually(lambda: len(self.accepted) >= count, patience=60), self._err.read_text()

    def terminate(self) -> None:
        """Stop the worker as the launcher does."""
        self.process.terminate()
        self.process.join(60)
        assert self.process.exitcode == 0, self._err.read_text()


@contextmanager
def emitting(place: Place, folder: Path, *names: str) -> Iterator[list[Emitter]]:
    emitters = [Emitter(name, place, folder) for name in names]
    try:
        yield emitters
    finally:
        for worker in emitters:
            worker.process.kill()
            worker.process.join()


@asynccontextmanager
async def load(journal: Journal) -> AsyncIterator[Callable[[], int]]:
    """Log about a thousand entries a second while the block runs; yields how many there were so far."""
    count = 0

    async def log() -> None:
        nonlocal count
        while True:
            for _ in range(5):
                journal.collector.operation(operation(count, url="/api/user/7/status" + "x" * 500))
                count += 1
            await asyncio.sleep(0.005)

    task = asyncio.create_task(log())
    try:
        yield lambda: count
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def more_than(count: Callable[[], int], least: int) -> None:
    """Return when ``least`` more entries were logged."""
    target = count() + least
    await until(lambda: count() >= target)


async def new_actions(place: Place, since: int) -> Counter[str]:
    return Counter((await place.actions())[since:])


async def is_idle(journal: Journal) -> bool:
    return (await journal.totals()).under_way == 0


async def is_whole(place: Place) -> bool:
    audit = Audit(database=place.database, keys=[Chain()])
    return not [fault async for day in audit.days() for fault in day.faults]


async def test_a_worker_that_is_killed_loses_its_last_moment_and_one_that_is_stopped_nothing(
    fragile: Place, tmp_path: Path
) -> None:
    with emitting(fragile, tmp_path, "killed", "stopped") as (killed, stopped):
        for worker in (killed, stopped):
            worker.wait_for(200)
        killed.process.kill()
        killed.process.join()
        ended = max(killed.accepted.values())
        stopped.wait_for(len(stopped.accepted) + 400)  # long enough to claim what the dead one had taken
        stopped.terminate()
        async with fragile.journal() as heir:
            await heir.start()
            await until(lambda: is_idle(heir))
        written = Counter(await fragile.actions())
        assert set(written.values()) == {1}
        assert stopped.accepted.keys() - written.keys() == set()
        missing = sorted(killed.accepted.keys() - written.keys(), key=killed.accepted.__getitem__)
        assert missing == list(killed.accepted)[len(killed.accepted) - len(missing) :]
        assert [
            action for action in missing if killed.accepted[action] < ended - LOST_AT_KILL - BUSY_MACHINE
        ] == []
        assert await is_whole(fragile)


async def test_nothing_is_missing_when_the_database_was_away_under_load(
    fragile: Place, durable: EmbeddedStores
) -> None:
    before = len(await fragile.actions())
    async with fragile.journal() as journal:
        await journal.start()
        async with load(journal) as count:
            await more_than(count, 200)
            await asyncio.to_thread(durable.postgres.stop)
            await more_than(count, 500)
            assert (await journal.totals()).under_way > 0

            async def waits() -> bool:
                return (await journal.health()).state == "degraded"

            await until(waits)
            await asyncio.to_thread(durable.postgres.start)
            await more_than(count, 200)
        await journal.finish()
        assert journal.collector.counts.dropped == 0
        assert await new_actions(fragile, before) == Counter(f"action {number}" for number in range(count()))
        assert (await journal.totals()).under_way == 0
    assert await is_whole(fragile)


async def test_counts_add_up_when_the_session_store_was_away_under_load(
    fragile: Place, durable: EmbeddedStores
) -> None:
    before = len(await fragile.actions())
    async with fragile.journal(memory_limit=2**20) as journal:
        start = await journal.totals()
        await journal.start()
        async with load(journal) as count:
            await more_than(count, 200)
            await asyncio.to_thread(durable.valkey.stop)
            await until(lambda: journal.collector.counts.dropped > 0)
            health = await journal.health()
            assert (health.state, health.details["alone"]) == ("degraded", True)
            await asyncio.to_thread(durable.valkey.start)
            await more_than(count, 200)
            await until(lambda: journal.collector.waiting < 500)  # it goes on its way again by itself
        await journal.finish()
        counts, end = journal.collector.counts, await journal.totals()
        written = await new_actions(fragile, before)
    assert counts.accepted == count() == counts.written + counts.dropped
    assert set(written.values()) == {1}
    assert len(written) == counts.written
    assert end == LogCounts(
        accepted=start.accepted + counts.accepted,
        written=start.written + counts.written,
        dropped=start.dropped + counts.dropped,
        set_aside=start.set_aside,
        under_way=0,
    )


async def test_the_last_entries_go_into_the_database_when_the_session_store_is_away_at_the_end(
    fragile: Place, durable: EmbeddedStores
) -> None:
    before = len(await fragile.actions())
    async with fragile.journal() as journal:
        await journal.start()
        await asyncio.to_thread(durable.valkey.stop)
        for number in range(300):
            journal.collector.operation(operation(number))
        await journal.finish()
        assert journal.collector.waiting == 0
    assert await new_actions(fragile, before) == Counter(f"action {number}" for number in range(300))
    assert await is_whole(fragile)


CALLS = 200


def explain(client: httpx.Client, header: dict[str, str], number: int) -> str | None:
    """Call a logged operation; return the id of the request once it was answered."""
    try:
        question = {"userName": ADMINISTRATOR, "method": "GET", "path": f"/api/thing/{number}"}
        answer = client.post("/api/policy/explain", json=question, headers=header)
    except httpx.HTTPError:
        return None  # the service stops
    request_id: str = answer.headers["x-request-id"]
    return request_id


def test_every_call_that_was_answered_has_its_entry_when_the_service_has_stopped_amid_them(
    published_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    environ: dict[str, Any] = {
        "DATABASE_URL": published_database_url,
        "REDIS_URL": redis_url,
        "JWT_SECRET": secrets.token_urlsafe(48),
        "PORTCULLIS_LOG__FORMAT": "json",
    }
    with running(tmp_path, "--workers", "2", **environ) as service, service.client() as client:
        credentials = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
        token = client.post("/api/auth/login", json=credentials).json()["data"]["accessToken"]
        header = {"Authorization": f"Bearer {token}"}
        with ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(explain, client, header, number) for number in range(CALLS)]
            assert calls[CALLS // 2].result() is not None
            assert service.stop() == 0
            answered = {decision_id for context in calls if (decision_id := context.result()) is not None}
        closed = [line for line in service.log if line["event"] == "the logs are closed"]
        heads = [line for line in service.log if line["event"] == "head of a log"]
    assert len(answered) > CALLS // 2
    assert [line["waiting"] + line["dropped"] for line in closed] == [0, 0]
    assert {head["log"] for head in heads} == {"operation_log", "login_log"}
    with psycopg.connect(published_database_url) as connection:
        rows = connection.execute("SELECT request_id FROM sys.operation_log").fetchall()
        months = connection.execute("SELECT count(*) FROM ONLY sys.operation_log_default").fetchone()
    assert answered - {row[0] for row in rows} == set()
    assert months == (0,)
    (tmp_path / "kept.log").write_text(service.output)
    verified = portcullis(tmp_path, "audit", "verify", "--heads", "kept.log", **environ)
    assert (verified.status, verified.errors) == (0, "")
