"""``portcullis jobs list``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from service.administration.jobs import all_jobs
from service.cli.lazy_commands import add_data, add_json
from service.cli.output import aligned, show
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

        job_states = with_database(settings, read)
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
