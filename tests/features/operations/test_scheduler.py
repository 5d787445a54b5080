"""Jobs run when they are due: by one runner of all, within their bound, and each run is recorded."""

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import text

from service.features.operations import store_jobs as jobs
from service.features.operations.job_runner import Busy, JobRunner
from service.features.operations.scheduler import LOOK_EVERY, Scheduler
from service.features.operations.store_jobs import KEPT, JobRun
from service.jobs.job import Job
from service.kernel.operator_error import OperatorError
from service.records.database.transactions import Connection, Database
from tests.support.running import ROOT

HOUR = 3600.0


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - a scheduler tells nobody
            await asyncio.sleep(0.02)


class Bench:
    """A database whose jobs tests run by runners of their own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.database = Database(url, timeout=5.0)
        self.ran: list[str] = []

    def runner(self, name: str = "here") -> JobRunner:
        return JobRunner(lambda: Database(self.url, pool_size=3, timeout=5.0), name)

    def scheduler(self, *all_jobs: Job, name: str = "here", busy_for: float = 0.2) -> Scheduler:
        return Scheduler(all_jobs, self.database, self.runner(name), busy_for=busy_for, spread=0.0)

    def job(
        self,
        name: str = "sweeping",
        work: Callable[[Database], Awaitable[str]] | None = None,
        interval: float | None = HOUR,
        **changes: Any,
    ) -> Job:
        async def note(_database: Database) -> str:
            self.ran.append(name)
            return "all clean"

        return Job(name, "Sweeps", work or note, interval, **changes)

    async def execute(self, statement: str) -> None:
        async with self.database.transaction() as connection:
            await connection.execute(text(statement))

    async def make_due(self, *all_jobs: Job) -> None:
        async with self.database.transaction() as connection:
            await jobs.settle(connection, {job.name: job.interval for job in all_jobs})
        await self.execute("UPDATE sys.job SET due_time = now() - interval '1 second'")

    async def runs(self, name: str = "sweeping") -> list[JobRun]:
        async with self.database.transaction() as connection:
            return (await jobs.runs(connection, [name], KEPT))[name]

    async def outcomes(self, name: str = "sweeping") -> list[str]:
        return [run.outcome for run in await self.runs(name)]


@pytest.fixture
async def bench(seeded_database_url: str) -> AsyncIterator[Bench]:
    made = Bench(seeded_database_url)
    yield made
    await made.database.close()


async def test_a_new_job_waits_and_one_that_is_due_runs_once_and_is_due_again_after_its_interval(
    bench: Bench,
) -> None:
    job = bench.job()
    scheduler = bench.scheduler(job)
    assert 0 < await scheduler.look() <= HOUR / 10
    assert bench.ran == []

    await bench.make_due(job)
    assert await scheduler.look() == LOOK_EVERY
    assert await scheduler.look() == LOOK_EVERY
    assert bench.ran == ["sweeping"]
    (run,) = await bench.runs()
    assert (run.outcome, run.detail, run.worker, run.user_name) == ("done", "all clean", "here", None)
    (stored,) = scheduler.stored
    assert stored.due_in is not None
    assert HOUR - 60 < stored.due_in <= HOUR
    assert stored.success_time is not None
    # Another process, started later, reads when the job is due.
    later = bench.scheduler(job)
    await later.look()
    assert later.stored[0].due_time == stored.due_time
    assert scheduler.counts == {("sweeping", "done"): 1, ("sweeping", "failed"): 0}


async def test_of_four_runners_at_once_one_runs_the_job(bench: Bench) -> None:
    others_have_looked = asyncio.Event()

    async def slow(_database: Database) -> str:
        bench.ran.append("slow")
        await others_have_looked.wait()
        return "done"

    job = bench.job(work=slow)
    await bench.make_due(job)
    looks = [asyncio.create_task(bench.scheduler(job, name=f"worker {n}").look()) for n in range(4)]
    await until(lambda: sum(look.done() for look in looks) == 3)
    others_have_looked.set()
    waits = await asyncio.gather(*looks)
    assert bench.ran == ["slow"]
    assert waits.count(0.2) == 3  # the others come back, in case its process is gone
    assert await bench.outcomes() == ["done"]


async def test_a_job_of_a_killed_process_is_taken_over_and_its_run_is_abandoned(bench: Bench) -> None:
    job = bench.job()
    await bench.make_due(job)
    program = textwrap.dedent(
        """
        import asyncio, sys
        from service.jobs.job import Job
        from service.features.operations.job_runner import JobRunner
        from service.records.database.transactions import Database

        async def hang(_database):
            print("begun", flush=True)
            await asyncio.sleep(3600)

        runner = JobRunner(lambda: Database(sys.argv[1], pool_size=3, timeout=5.0), "killed")
        asyncio.run(runner.run(Job("sweeping", "Sweeps", hang, 3600.0)))
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program, bench.url], stdout=subprocess.PIPE, cwd=ROOT)  # noqa: ASYNC220
    assert process.stdout is not None
    assert await asyncio.to_thread(process.stdout.readline) == b"begun\n"
    with pytest.raises(Busy):
        await bench.runner().run(job)
    assert await bench.outcomes() == ["running"]

    process.kill()
    process.communicate()
    running = asyncio.create_task(bench.scheduler(job).run())
    await until(lambda: bool(bench.ran))
    running.cancel()
    assert (await bench.outcomes())[-1] == "abandoned"


async def test_a_job_that_hangs_is_stopped_and_has_failed(bench: Bench) -> None:
    async def hang(database: Database) -> str:
        async with database.transaction(within=60) as connection:
            await connection.execute(text("SELECT pg_sleep(60)"))
        return "never"

    job = bench.job(work=hang, within=0.2)
    await bench.make_due(job)
    scheduler = bench.scheduler(job)
    await scheduler.look()
    (run,) = await bench.runs()
    assert (run.outcome, run.detail) == ("failed", "stopped, since it took longer than 0.2 s")
    assert (await scheduler.health()).state == "degraded"


async def test_a_failing_job_is_told_until_it_is_done_again_and_is_tried_again_sooner(bench: Bench) -> None:
    fails: list[Exception] = [OperatorError("the bucket is gone"), ValueError("password=hunter2")]

    async def work(_database: Database) -> str:
        if fails:
            raise fails.pop(0)
        return "well"

    job = bench.job(work=work, retry=20.0)
    scheduler = bench.scheduler(job)
    for state, detail, wait in (
        ("degraded", "the bucket is gone", 20),
        ("degraded", "an unexpected error: ValueError", 20),
        ("up", "well", LOOK_EVERY),
    ):
        await bench.make_due(job)
        assert wait - 10 < await scheduler.look() <= wait
        health = await scheduler.health()
        assert (health.state, health.details["failing"]) == (
            state,
            ["sweeping"] if state == "degraded" else [],
        )
        assert (await bench.runs())[0].detail == detail
    assert [(stored_job.job_name, stored_job.failing) for stored_job in scheduler.stored] == [
        ("sweeping", False)
    ]


async def test_a_paused_job_waits_until_it_is_asked_for(bench: Bench) -> None:
    job = bench.job()
    await bench.make_due(job)
    scheduler = bench.scheduler(job)
    async with bench.database.transaction() as connection:
        assert await jobs.pause(connection, "sweeping", paused=True)
        assert not await jobs.pause(connection, "nothing", paused=True)
    assert await scheduler.look() == LOOK_EVERY
    assert bench.ran == []
    async with bench.database.transaction() as connection:
        assert await jobs.request(connection, "sweeping", "wanda")
    await scheduler.look()
    (run,) = await bench.runs()
    assert (run.outcome, run.user_name) == ("done", "wanda")
    assert scheduler.stored[0].requested_by is None


async def test_a_job_without_a_schedule_runs_only_when_it_is_asked_for(bench: Bench) -> None:
    job = bench.job(interval=None)
    scheduler = bench.scheduler(job)
    assert await scheduler.look() == LOOK_EVERY
    async with bench.database.transaction() as connection:
        await jobs.request(connection, "sweeping", "wanda")
    await scheduler.look()
    await scheduler.look()
    assert bench.ran == ["sweeping"]
    assert scheduler.stored[0].due_time is None


async def test_times_from_while_the_clock_was_ahead_hold_no_job_back(bench: Bench) -> None:
    asked, due = bench.job("asked"), bench.job("due", interval=HOUR)
    await bench.make_due(asked, due)
    async with bench.database.transaction() as connection:
        await jobs.request(connection, "asked", "wanda")
    await bench.execute("UPDATE sys.job SET due_time = now() + interval '1 day'")
    scheduler = bench.scheduler(asked)
    await scheduler.look()
    await scheduler.look()
    assert bench.ran == ["asked"]
    assert await bench.scheduler(due).look() <= HOUR / 10


async def test_a_job_that_falls_due_during_a_long_one_is_run_at_once(bench: Bench) -> None:
    async def short_is_due(_database: Database) -> str:
        await bench.make_due(short)
        return "done"

    short = bench.job("short")
    long = bench.job("long", work=short_is_due)
    scheduler = bench.scheduler(short, long)
    await scheduler.look()
    await bench.execute("UPDATE sys.job SET due_time = now() WHERE job_name = 'long'")
    assert await scheduler.look() < 1
    await scheduler.look()
    assert bench.ran == ["short"]


@pytest.mark.parametrize("first", [None, "wanda"])
async def test_who_asks_while_a_job_runs_gets_another_run(bench: Bench, first: str | None) -> None:
    async def asked_meanwhile(_database: Database) -> str:
        bench.ran.append("again")
        if len(bench.ran) == 1:
            async with bench.database.transaction() as connection:
                await jobs.request(connection, "sweeping", "wanda")
        return "done"

    job = bench.job(work=asked_meanwhile)
    await bench.make_due(job)
    if first is not None:
        async with bench.database.transaction() as connection:
            await jobs.request(connection, "sweeping", first)
    scheduler = bench.scheduler(job)
    await scheduler.look()
    await scheduler.look()
    await scheduler.look()
    assert [run.user_name for run in await bench.runs()] == ["wanda", first]


async def test_a_shorter_interval_counts_at_once(bench: Bench) -> None:
    job = bench.job(interval=24 * HOUR)
    await bench.make_due(job)
    await bench.scheduler(job).look()
    scheduler = bench.scheduler(bench.job(interval=60.0))
    assert await scheduler.look() <= 6.0


async def test_a_job_without_work_is_left_out_without_a_record_unless_somebody_asks_for_it(
    bench: Bench,
) -> None:
    work: list[str] = []

    async def pending(connection: Connection) -> bool:
        return bool(await connection.scalar(text("SELECT true"))) and bool(work)

    job = bench.job(interval=5.0, pending=pending)
    scheduler = bench.scheduler(job)
    await bench.make_due(job)
    assert 0 < await scheduler.look() <= 5.0
    assert (bench.ran, await bench.runs()) == ([], [])
    assert not scheduler.stored[0].is_due
    assert scheduler.stored[0].success_time is not None
    work.append("a mail")
    await bench.make_due(job)
    await scheduler.look()
    assert await bench.outcomes() == ["done"]
    work.clear()
    async with bench.database.transaction() as connection:
        await jobs.request(connection, job.name, "admin")
    await scheduler.look()
    assert await bench.outcomes() == ["done", "done"]


async def test_a_job_of_a_worker_that_stops_stays_due(bench: Bench) -> None:
    begun = asyncio.Event()

    async def hang(_database: Database) -> str:
        begun.set()
        await asyncio.sleep(HOUR)
        return "never"

    job = bench.job(work=hang)
    await bench.make_due(job)
    stopping = asyncio.create_task(bench.scheduler(job).run())
    await begun.wait()
    stopping.cancel()
    with suppress(asyncio.CancelledError):
        await stopping
    assert await bench.outcomes() == ["stopped"]
    await bench.scheduler(bench.job()).look()
    assert await bench.outcomes() == ["done", "stopped"]


async def test_a_worker_that_is_woken_looks_at_once_and_an_idle_one_does_not_look(bench: Bench) -> None:
    job = bench.job()
    scheduler = bench.scheduler(job)
    running = asyncio.create_task(scheduler.run())
    await until(lambda: bool(scheduler.stored))
    await bench.make_due(job)
    await asyncio.sleep(0.3)
    assert bench.ran == []
    scheduler.wake()
    await until(lambda: any(scheduler.counts.values()))
    running.cancel()
    assert bench.ran == ["sweeping"]


async def test_only_the_last_runs_are_kept(bench: Bench) -> None:
    job = bench.job()
    await bench.make_due(job)
    await bench.execute(
        "INSERT INTO sys.job_run (job_name, worker, outcome) SELECT 'sweeping', 'x', 'done'"
        f" FROM generate_series(1, {KEPT + 10})"
    )
    await bench.scheduler(job).look()
    kept = await bench.runs()
    async with bench.database.transaction() as connection:
        count = (await connection.execute(text("SELECT count(*) FROM sys.job_run"))).scalar_one()
    assert (len(kept), count, kept[0].worker) == (KEPT, KEPT, "here")
