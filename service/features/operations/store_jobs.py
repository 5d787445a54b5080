"""Jobs that are due, claimed by one runner at a time, and the runs that are kept of them."""

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, TypeAlias

import sqlalchemy as sa
from msgspec import Meta, Struct
from sqlalchemy.dialects.postgresql import insert as upsert

from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.value_rules import Id
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.installation import job, job_run

Outcome: TypeAlias = Literal["running", "done", "failed", "stopped", "abandoned"]
"""``stopped``: the service ended meanwhile. ``abandoned``: its process ended without a word."""

KEPT: Final = 50
"""The number of runs that are kept of each job."""
FIRST_AFTER: Final = 0.1
"""The part of its interval after which a new job is due for the first time."""


class StoredJob(Struct, frozen=True):
    """Stored state of a job. ``due_in`` is in seconds, negative once it is due; None without a schedule.

    ``requested_by`` is the user who asked for the run that is due. ``failing``: the last finished run failed.
    """

    job_name: str
    paused: bool
    due_in: float | None
    due_time: datetime | None
    requested_by: str | None
    failing: bool
    success_time: datetime | None

    @property
    def is_due(self) -> bool:
        """True if it should run now: a requested run is always due."""
        if self.requested_by is not None:
            return True
        return self.due_in is not None and self.due_in <= 0 and not self.paused


class JobRun(Struct, frozen=True):
    """A run of a job; ``user_name`` asked for it, None for one by schedule.

    ``detail_code`` and ``detail_params`` are those of the sentence ``detail``; None while it runs, and for a
    run of an older version.
    """

    id: Id
    job_name: str
    worker: str
    user_name: str | None
    begin_time: datetime
    end_time: datetime | None
    outcome: Outcome
    detail: Annotated[str, Meta(examples=["12 objects deleted"])]
    detail_code: Annotated[str, Meta(examples=["objects_deleted"])] | None
    detail_params: Annotated[Mapping[str, Any], Meta(examples=[{"count": 12}])] | None


_DUE_IN: Final = sa.cast(sa.func.extract("epoch", job.c.due_time - sa.func.clock_timestamp()), sa.Double)
_JOB: Final = RowMapper(StoredJob, job, due_in=_DUE_IN.label("due_in"))
_RUN: Final = RowMapper(JobRun, job_run)
_SETTLE: Final = upsert(job).from_select(
    ["job_name", "due_time"],
    sa.select(
        sa.func.unnest(sa.bindparam("names", type_=sa.ARRAY(sa.Text))),
        sa.func.now() + sa.func.unnest(sa.bindparam("waits", type_=sa.ARRAY(sa.Interval)), type_=sa.Interval),
    ),
)
"""Writes jobs, each with the time after which it is due, or with none."""


async def settle(connection: Connection, intervals: Mapping[str, float | None]) -> list[StoredJob]:
    """Return the stored jobs of these names, in their order; ``intervals`` are in seconds.

    A new one is added, and one that is due later than its interval allows is set right.
    """
    known = await stored(connection, intervals)
    wrong = {name: every for name, every in intervals.items() if not _is_settled(known.get(name), every)}
    if wrong:
        waits = [
            None if every is None else timedelta(seconds=every * FIRST_AFTER) for every in wrong.values()
        ]
        renewed = {"due_time": _SETTLE.excluded.due_time}
        await connection.execute(
            _SETTLE.on_conflict_do_update(index_elements=[job.c.job_name], set_=renewed),
            {"names": [*wrong], "waits": waits},
        )
        known = await stored(connection, intervals)
    return [known[name] for name in intervals]


def _is_settled(stored: StoredJob | None, every: float | None) -> bool:
    if stored is None:
        return False
    if stored.requested_by is not None:
        return True
    if every is None or stored.due_in is None:
        return every is stored.due_in
    return stored.due_in <= every


async def stored(connection: Connection, names: Collection[str]) -> dict[str, StoredJob]:
    """Return the stored state of these jobs, by name; a job that is not stored yet is left out."""
    statement = _JOB.select.where(job.c.job_name.in_(names))
    return {stored_job.job_name: stored_job for stored_job in await _JOB.all(connection, statement)}


async def failing(connection: Connection, names: Collection[str]) -> list[str]:
    """Return which of these jobs have failed in their last finished run, and are not paused."""
    statement = sa.select(job.c.job_name).where(job.c.job_name.in_(names), job.c.failing, ~job.c.paused)
    return sorted((await connection.execute(statement)).scalars())


async def try_lock(connection: Connection, name: str) -> bool:
    """Take the lock of a job until the end of the transaction, if it is free; return whether it was taken.

    The transaction may then be idle for as long as the job runs.
    """
    await connection.execute(sa.text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    key = int.from_bytes(hashlib.sha256(f"portcullis job {name}".encode()).digest()[:8], signed=True)
    return bool((await connection.execute(sa.select(sa.func.pg_try_advisory_xact_lock(key)))).scalar_one())


async def claim(connection: Connection, name: str, worker: str) -> JobRun | None:
    """Begin a run of a job if it is due; None if it is not, or not any more. The caller holds its lock.

    Runs that have not ended are ``abandoned``: their runner has lost the lock.
    """
    stored = await _JOB.one_or_none(connection, _JOB.select.where(job.c.job_name == name).with_for_update())
    if stored is None or not stored.is_due:
        return None
    # The time separates later requests from earlier ones, even after a request by a clock that was ahead.
    begins = sa.update(job).where(job.c.job_name == name)
    await connection.execute(begins.values(due_time=sa.func.least(job.c.due_time, sa.func.now())))
    await _end(connection, "abandoned", sentence("run_abandoned"), job_run.c.job_name == name)
    begun = sa.insert(job_run).values(job_name=name, worker=worker, user_name=stored.requested_by)
    return await _RUN.returned(connection, begun.returning(*_RUN.columns))


async def finish(
    connection: Connection, run: JobRun, *, failed: bool, detail: Sentence, again_in: float | None
) -> bool:
    """End a run; its job is due again in ``again_in`` seconds, or only on request (None).

    A request during the run leads to another run. ``KEPT`` runs of each job are kept. Return False, and
    change nothing, if the run was found abandoned meanwhile.
    """
    if not await _end(connection, "failed" if failed else "done", detail, job_run.c.id == run.id):
        return False
    again = sa.null() if again_in is None else sa.func.now() + timedelta(seconds=again_in)
    asked = job.c.requested_by.is_not(None) & (job.c.due_time > run.begin_time)
    await connection.execute(
        sa.update(job)
        .where(job.c.job_name == run.job_name)
        .values(
            failing=failed,
            success_time=job.c.success_time if failed else sa.func.now(),
            due_time=sa.case((asked, job.c.due_time), else_=again),
            requested_by=sa.case((asked, job.c.requested_by), else_=sa.null()),
        )
    )
    older = sa.select(job_run.c.id).where(job_run.c.job_name == run.job_name)
    beyond = older.order_by(job_run.c.id.desc()).offset(KEPT)
    await connection.execute(sa.delete(job_run).where(job_run.c.id.in_(beyond)))
    return True


async def leave_out(connection: Connection, intervals: Mapping[str, float]) -> None:
    """Have jobs that have nothing to do be due again after their intervals, in seconds, without a run."""
    for name, every in intervals.items():
        success = sa.case((job.c.failing, job.c.success_time), else_=sa.func.now())
        again = {"due_time": sa.func.now() + timedelta(seconds=every), "success_time": success}
        by_schedule = sa.update(job).where(job.c.job_name == name, job.c.requested_by.is_(None))
        await connection.execute(by_schedule.values(again))


async def stop(connection: Connection, run: JobRun) -> None:
    """End a run whose service ends; its job stays due, for another worker."""
    await _end(connection, "stopped", sentence("run_stopped"), job_run.c.id == run.id)


async def request(connection: Connection, name: str, user_name: str) -> bool:
    """Make a job due now, also a paused one; return False if the job does not exist."""
    # The clock's time, not that of the transaction: a run may have begun since.
    now = {"due_time": sa.func.clock_timestamp(), "requested_by": user_name}
    return (await connection.execute(sa.update(job).where(job.c.job_name == name).values(now))).rowcount == 1


async def pause(connection: Connection, name: str, *, paused: bool) -> bool:
    """Pause a job, or let it run again by its schedule; return False if the job does not exist."""
    changed = sa.update(job).where(job.c.job_name == name).values(paused=paused)
    return (await connection.execute(changed)).rowcount == 1


async def runs(connection: Connection, names: Collection[str], most: int) -> dict[str, list[JobRun]]:
    """Return up to ``most`` runs of each of these jobs, the newest first, by name."""
    number = sa.func.row_number().over(partition_by=job_run.c.job_name, order_by=job_run.c.id.desc())
    ranked = sa.select(job_run.c.id, number.label("number")).where(job_run.c.job_name.in_(names)).subquery()
    newest = sa.select(ranked.c.id).where(ranked.c.number <= most)
    statement = _RUN.select.where(job_run.c.id.in_(newest)).order_by(job_run.c.id.desc())
    by_job: dict[str, list[JobRun]] = {name: [] for name in names}
    for run in await _RUN.all(connection, statement):
        by_job[run.job_name].append(run)
    return by_job


async def _end(
    connection: Connection, outcome: Outcome, detail: Sentence, which: sa.ColumnElement[bool]
) -> bool:
    ended = sa.update(job_run).where(which, job_run.c.outcome == "running")
    values = {
        "outcome": outcome,
        "detail": str(detail),
        "detail_code": detail.code,
        "detail_params": detail.params,
        "end_time": sa.func.clock_timestamp(),
    }
    return bool((await connection.execute(ended.values(values))).rowcount)
