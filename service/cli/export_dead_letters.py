"""``portcullis export dead-letters``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

import msgspec

from service.cli.lazy_commands import add_data, add_json
from service.cli.output import aligned, show
from service.kernel.clock import rfc3339
from service.kernel.text import printable
from service.operator.database import with_database
from service.operator.stores import reachable
from service.records import export_entries
from service.records.database.transactions import Database
from service.records.export_entries import DeadLetter
from service.settings import load
from service.web.messages.schema import Schema


class ShownDeadLetter(Schema):
    """A dead letter; `entry` is as the format `json` has it."""

    id: str
    destination: str
    log: str
    dead_time: str
    reason: str
    entry: msgspec.Raw


class DeadLetters(Schema):
    """Dead letters, the oldest first."""

    items: list[ShownDeadLetter]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the destination and the options."""
    parser.add_argument("destination", metavar="DESTINATION", nargs="?", help="only those of one")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="the most to show (default: 100)")
    add_data(parser)
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print dead letters; raises SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:

        async def read(database: Database) -> list[DeadLetter]:
            async with database.transaction() as connection:
                return await export_entries.dead_letters_after(
                    connection, options.destination, 0, options.limit
                )

        stored = with_database(settings, read)
    letters = DeadLetters(
        items=[
            ShownDeadLetter(
                id=str(letter.event_id),
                destination=letter.destination,
                log=letter.log,
                dead_time=rfc3339(letter.dead_time),
                reason=letter.reason,
                entry=msgspec.Raw(letter.entry.encode()),
            )
            for letter in stored
        ]
    )
    show(options, letters, lambda: aligned(_rows(letters)))


def _rows(letters: DeadLetters) -> Iterator[tuple[str, str, str, str, str]]:
    yield "TIME", "DESTINATION", "LOG", "ID", "REASON"
    for letter in letters.items:
        yield letter.dead_time, letter.destination, letter.log, letter.id, printable(letter.reason)
