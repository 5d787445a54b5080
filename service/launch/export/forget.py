"""``portcullis export forget DESTINATION``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.launch.database import with_database
from service.launch.export.named import ConfiguredDestination, UnknownDestination
from service.launch.lazy_commands import add_data
from service.launch.output import say
from service.launch.stores import reachable
from service.records.database.transactions import Database
from service.records.export import decisions, destinations
from service.settings import load


def add_arguments(parser: ArgumentParser) -> None:
    """Add the destination."""
    parser.add_argument("destination", metavar="DESTINATION", help="its name")
    add_data(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Delete the state of a destination; raises UnknownDestination, SchemaError and Unavailable.

    One that the settings name is refused: its next attempt would begin anew.
    """
    name = options.destination
    with reachable(load(environ)) as settings:
        if name in {one.name for one in settings.export.destinations}:
            raise ConfiguredDestination(f"the settings name {name}: remove it there first, on all nodes")

        async def work(database: Database) -> bool:
            async with database.transaction() as connection:
                gone = await destinations.forget(connection, name)
                await decisions.forget_sent(connection)
                return gone

        if not with_database(settings, work):
            raise UnknownDestination(f"there is no state of a destination '{name}'")
    say(f"{name}: its position and its dead letters are deleted")
