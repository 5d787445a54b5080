"""``portcullis jobs list``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from service.cli.answers import show
from service.cli.jobs_stored import all_jobs
from service.cli.lazy_commands import add_data, add_json
from service.cli.output import aligned
from service.endpoints.jobs import JobState, JobStates, states
from service.operator.database import with_database
from service.operator.stores import reachable
from service.records.database.transactions import Database
from service.settings import load


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    add_data(parser)
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print all jobs; raises SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:

        async def read(database: Database) -> JobStates:
            async with database.transaction() as connection:
                return JobStates(items=await states(connection, all_jobs(settings)))

        found = with_database(settings, read)
    show(options, found, lambda: aligned(_rows(found)))


def _rows(found: JobStates) -> Iterator[tuple[str, str, str, str]]:
    yield "JOB", "DUE", "LAST RUN", "DETAIL"
    for one in found.items:
        last = one.runs[0] if one.runs else None
        ended = "never" if last is None else f"{last.outcome} {last.begin_time}"
        yield one.name, _due(one), ended, "" if last is None else last.detail


def _due(job: JobState) -> str:
    if job.paused:
        return "paused"
    return "on request" if job.due_time is None else str(job.due_time)
