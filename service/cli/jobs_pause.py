"""``portcullis jobs pause JOB``, and ``portcullis jobs resume JOB``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.cli.jobs_run import named
from service.cli.lazy_commands import add_data
from service.operator.database import with_database
from service.operator.stores import reachable
from service.records import jobs
from service.records.database.transactions import Database
from service.settings import load


def add_arguments(parser: ArgumentParser) -> None:
    """Add the job."""
    parser.add_argument("job", metavar="JOB", help="its name, as in 'portcullis jobs list'")
    add_data(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Pause or resume a job, as ``action`` says; raises UnknownJob, SchemaError and Unavailable."""
    paused = options.action == "pause"
    with reachable(load(environ)) as settings:
        job = named(settings, options.job)

        async def change(database: Database) -> None:
            async with database.transaction() as connection:
                await jobs.settle(connection, {job.name: job.interval})
                await jobs.pause(connection, job.name, paused=paused)

        with_database(settings, change)
