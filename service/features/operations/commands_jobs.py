"""``portcullis jobs …``: listed, run, paused and resumed."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Coroutine, Iterator, Mapping
from time import perf_counter
from typing import Any, Final

from service.administration.jobs import all_jobs
from service.audit.journal import enter
from service.cli.lazy_commands import Parts, add_data, add_usual
from service.cli.output import aligned, say, show
from service.features.operations import store_jobs as jobs
from service.features.operations.api_jobs import JobState, JobStates, states
from service.features.operations.job_runner import Busy, runner_of
from service.jobs.job import Job
from service.operator.database import with_connection
from service.operator.errors import LaunchError
from service.operator.stores import reachable
from service.operator.who import log_to_errors, operator_event, operator_name
from service.records.database.transactions import Connection
from service.settings import Settings, load


def _named(settings: Settings, name: str) -> Job:
    every = {job.name: job for job in all_jobs(settings)}
    if name not in every:
        raise LaunchError(f"the job '{name}' does not exist: the jobs are {', '.join(every)}")
    return every[name]


def _add_job(parser: ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="the name of the job, as in 'portcullis jobs list'")
    add_data(parser)


def _list(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print all jobs; raises SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:

        async def read(connection: Connection) -> JobStates:
            return JobStates(items=await states(connection, all_jobs(settings)))

        job_states = with_connection(settings, read)
    show(options, job_states, lambda: aligned(_rows(job_states)))


def _rows(job_states: JobStates) -> Iterator[tuple[str, str, str, str]]:
    yield "JOB", "DUE", "LAST RUN", "DETAIL"
    for letter in job_states.items:
        last = letter.runs[0] if letter.runs else None
        ended = "never" if last is None else f"{last.outcome} {last.begin_time}"
        yield letter.name, _due(letter), ended, "" if last is None else last.detail


def _due(job: JobState) -> str:
    if job.paused:
        return "paused"
    return "on request" if job.due_time is None else str(job.due_time)


def _run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Run a job and print its outcome; raises LaunchError, SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:
        log_to_errors(settings, settings.log.level)
        job = _named(settings, options.job)
        who = operator_name()

        async def request(connection: Connection) -> None:
            await jobs.settle(connection, {job.name: job.interval})
            await jobs.request(connection, job.name, who)

        _change(settings, options, "run", request)
        try:
            ended = asyncio.run(runner_of(settings, f"command of {who}").run(job))
        except Busy:
            raise LaunchError(f"the job {job.name} is already running in another process") from None
    if ended is None:
        raise LaunchError(
            f"another process has started the job {job.name} in the meantime: see 'portcullis jobs list'"
        )
    if ended.failed:
        raise LaunchError(f"the job {job.name} has failed: {ended.detail}")
    say(f"{job.name}: {ended.detail}")


def _pause(options: Namespace, environ: Mapping[str, str]) -> None:
    """Pause or resume a job, as ``action`` says; raises LaunchError, SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:
        job = _named(settings, options.job)

        async def change(connection: Connection) -> None:
            await jobs.settle(connection, {job.name: job.interval})
            await jobs.pause(connection, job.name, paused=options.action == "pause")

        _change(settings, options, "pause or resume", change)


def _change(
    settings: Settings,
    options: Namespace,
    action: str,
    change: Callable[[Connection], Coroutine[Any, Any, None]],
) -> None:
    """Make the change and enter it in the operation log; raises SchemaError and Unavailable."""
    begun = perf_counter()
    with_connection(settings, change)
    event = operator_event(f"jobs {options.action} {options.job}", begun, module="job", action=action)
    asyncio.run(enter(settings, event))


COMMANDS: Final[Parts] = {
    "list": (add_usual, _list),
    "run": (_add_job, _run),
    "pause": (_add_job, _pause),
    "resume": (_add_job, _pause),
}
