"""``portcullis jobs pause JOB``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.cli.jobs.stored import set_paused
from service.cli.lazy_commands import add_data


def add_arguments(parser: ArgumentParser) -> None:
    """Add the job."""
    parser.add_argument("job", metavar="JOB", help="its name, as in 'portcullis jobs list'")
    add_data(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Pause a job; raises UnknownJob, SchemaError and Unavailable."""
    set_paused(options, environ, paused=True)
