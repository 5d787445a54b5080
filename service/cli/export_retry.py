"""``portcullis export retry DESTINATION``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.audit.export.entry import Failed
from service.audit.export.resending import Resent, resend
from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.kernel.text import counted
from service.operator.database import with_database
from service.operator.errors import LaunchError, UnknownDestination
from service.operator.stores import reachable
from service.operator.who import log_to_errors
from service.records import export_destinations
from service.records.database.transactions import Database
from service.settings import Destination, Settings, load


class ResendError(LaunchError):
    """The destination can't be reached, or takes nothing."""


def named(settings: Settings, name: str) -> Destination:
    """Return the destination of the settings; raises UnknownDestination."""
    by_name = {destination.name: destination for destination in settings.export.destinations}
    if name not in by_name:
        raise UnknownDestination(
            f"the settings have no destination '{name}'; there are {', '.join(by_name) or 'none'}"
        )
    return by_name[name]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the destination."""
    parser.add_argument("destination", metavar="DESTINATION", help="its name")
    add_data(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Send dead letters, and let the service try at once; raises ResendError, SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:
        log_to_errors(settings, settings.log.level)
        destination = named(settings, options.destination)

        async def work(database: Database) -> Resent:
            done = await resend(database, destination)
            async with database.transaction() as connection:
                await export_destinations.retry_now(connection, destination.name)
            return done

        try:
            done = with_database(settings, work)
        except Failed as failure:
            raise ResendError(f"{destination.name}: {failure}") from None
    refused = f"; it still refuses {done.refused}: {done.reason}" if done.refused else ""
    say(f"{destination.name}: {counted(done.sent, 'dead letter')} sent{refused}")
