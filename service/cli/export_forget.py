"""``portcullis export forget DESTINATION``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.cli.lazy_commands import add_data
from service.cli.output import say
from service.operator.database import with_database
from service.operator.errors import ConfiguredDestination, UnknownDestination
from service.operator.stores import reachable
from service.records import export_destinations, export_entries
from service.records.database.transactions import Connection, Database
from service.settings import Destination, load


def add_arguments(parser: ArgumentParser) -> None:
    """Add the destination."""
    parser.add_argument("destination", metavar="DESTINATION", help="its name")
    add_data(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Delete the state of a destination; raises UnknownDestination, SchemaError and Unavailable.

    Of one that the settings name, only its positions in logs that it no longer exports are deleted. Without
    such logs it is refused: its next attempt would begin anew.
    """
    name = options.destination
    with reachable(load(environ)) as settings:
        configured = {destination.name: destination for destination in settings.export.destinations}.get(name)

        async def work(database: Database) -> str:
            async with database.transaction() as connection:
                gone = await (
                    _forgotten(connection, name) if configured is None else _left(connection, configured)
                )
                await export_entries.forget_sent_decisions(connection)
                return gone

        say(f"{name}: {with_database(settings, work)}")


async def _forgotten(connection: Connection, name: str) -> str:
    if not await export_destinations.forget(connection, name):
        raise UnknownDestination(f"there is no state of a destination '{name}'")
    return "its position and its dead letters are deleted"


async def _left(connection: Connection, configured: Destination) -> str:
    state = await export_destinations.stored(connection, configured.name)
    logs = [] if state is None else state.left(configured.logs)
    if not logs:
        raise ConfiguredDestination(
            f"the settings name {configured.name}: remove it there first, on all nodes"
        )
    await export_destinations.leave(connection, configured.name, logs)
    return f"its position in {' and '.join(logs)}, which it does not export any more, is deleted"
