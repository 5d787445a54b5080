"""``portcullis export status``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from service.cli.lazy_commands import add_data, add_json
from service.cli.output import aligned, show
from service.kernel.clock import now, rfc3339
from service.kernel.text import printable
from service.operator.database import with_database
from service.operator.stores import reachable
from service.records import export_destinations
from service.records.database.transactions import Database
from service.records.export_destinations import StoredDestination
from service.settings import Destination, load
from service.web.messages.schema import Schema


class DestinationState(Schema):
    """A destination; `configured` says that the settings name it. `lag` is in seconds."""

    name: str
    configured: bool
    worker: str | None
    sent: int
    lag: float
    failures: int
    reason: str | None
    success_time: str | None
    dead_letters: int


class DestinationStates(Schema):
    """All destinations."""

    items: list[DestinationState]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    add_data(parser)
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print all destinations; raises SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:

        async def read(database: Database) -> list[StoredDestination]:
            async with database.transaction() as connection:
                return await export_destinations.all_stored(connection)

        stored = with_database(settings, read)
    states = DestinationStates(items=list(_states(settings.export.destinations, stored)))
    show(options, states, lambda: aligned(_rows(states)))


def _states(
    configured: tuple[Destination, ...], stored: list[StoredDestination]
) -> Iterator[DestinationState]:
    by_name = {destination.name: destination for destination in stored}
    names = {destination.name for destination in configured}
    for name in sorted(names | by_name.keys()):
        state = by_name.get(name)
        since = None if state is None else state.waiting_time
        success = None if state is None else state.success_time
        yield DestinationState(
            name=name,
            configured=name in names,
            worker=state.worker if state else None,
            sent=state.sent if state else 0,
            lag=0.0 if since is None else max(0.0, round((now() - since).total_seconds(), 1)),
            failures=state.failures if state else 0,
            reason=state.reason if state else None,
            success_time=None if success is None else rfc3339(success),
            dead_letters=state.dead_letters if state else 0,
        )


def _rows(states: DestinationStates) -> Iterator[tuple[str, str, str, str, str, str]]:
    yield "DESTINATION", "SENT", "LAG", "LAST SUCCESS", "DEAD LETTERS", "FAILS"
    for letter in states.items:
        yield (
            letter.name,
            str(letter.sent),
            f"{letter.lag:g} s",
            letter.success_time or "never",
            str(letter.dead_letters),
            printable(letter.reason or "") if letter.configured else "not in the settings any more",
        )
