"""``portcullis export …``: progress of log exports, and refused entries."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from service.cli.lazy_commands import Parts, add_data, add_usual
from service.cli.output import aligned, say, show
from service.features.export import store_destinations, store_entries
from service.features.export.entry import Failed
from service.features.export.receivers import Resent, resend
from service.features.export.store_destinations import StoredDestination
from service.kernel.clock import now, rfc3339
from service.kernel.text import counted, printable
from service.operator.database import with_connection, with_database
from service.operator.errors import LaunchError
from service.operator.stores import reachable
from service.operator.who import log_to_errors
from service.records.database.transactions import Connection, Database
from service.settings import Destination, Settings, load
from service.web.messages.schema import Schema


def _add_destination(parser: ArgumentParser) -> None:
    parser.add_argument("destination", metavar="DESTINATION", help="its name")
    add_data(parser)


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


def _status(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print all destinations; raises SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:
        stored = with_connection(settings, store_destinations.all_stored)
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
            printable(letter.reason or "") if letter.configured else "no longer in the settings",
        )


def _named(settings: Settings, name: str) -> Destination:
    by_name = {destination.name: destination for destination in settings.export.destinations}
    if name not in by_name:
        raise LaunchError(
            f"the settings have no destination '{name}'; the destinations are {', '.join(by_name) or 'none'}"
        )
    return by_name[name]


def _retry(options: Namespace, environ: Mapping[str, str]) -> None:
    """Send dead letters, and retry at once; raises LaunchError, SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:
        log_to_errors(settings, settings.log.level)
        destination = _named(settings, options.destination)

        async def work(database: Database) -> Resent:
            done = await resend(database, destination)
            async with database.transaction() as connection:
                await store_destinations.retry_now(connection, destination.name)
            return done

        try:
            done = with_database(settings, work)
        except Failed as failure:
            raise LaunchError(f"{destination.name}: {failure}") from None
    refused = f"; it still rejects {done.refused}: {done.reason}" if done.refused else ""
    say(f"{destination.name}: {counted(done.sent, 'dead letter')} sent{refused}")


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


def _add_dead_letters(parser: ArgumentParser) -> None:
    parser.add_argument(
        "destination", metavar="DESTINATION", nargs="?", help="only dead letters of this destination"
    )
    parser.add_argument(
        "--limit", type=int, default=100, metavar="N", help="the maximum to show (default: 100)"
    )
    add_usual(parser)


def _dead_letters(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print dead letters; raises SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:
        stored = with_connection(
            settings,
            lambda connection: store_entries.dead_letters_after(
                connection, options.destination, 0, options.limit
            ),
        )
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
    show(options, letters, lambda: aligned(_letter_rows(letters)))


def _letter_rows(letters: DeadLetters) -> Iterator[tuple[str, str, str, str, str]]:
    yield "TIME", "DESTINATION", "LOG", "ID", "REASON"
    for letter in letters.items:
        yield letter.dead_time, letter.destination, letter.log, letter.id, printable(letter.reason)


def _forget(options: Namespace, environ: Mapping[str, str]) -> None:
    """Delete the state of a destination; raises LaunchError, SchemaError and Unavailable.

    For a destination in the settings, only its positions in logs that it no longer exports are deleted.
    Without such logs the command is refused, because the export would start again without its positions.
    """
    name = options.destination
    with reachable(load(environ)) as settings:
        configured = {destination.name: destination for destination in settings.export.destinations}.get(name)

        async def work(connection: Connection) -> str:
            gone = await (
                _forgotten(connection, name) if configured is None else _left(connection, configured)
            )
            await store_entries.forget_sent_decisions(connection)
            return gone

        say(f"{name}: {with_connection(settings, work)}")


async def _forgotten(connection: Connection, name: str) -> str:
    if not await store_destinations.forget(connection, name):
        raise LaunchError(f"the destination '{name}' has no stored state")
    return "its position and its dead letters are deleted"


async def _left(connection: Connection, configured: Destination) -> str:
    state = await store_destinations.stored(connection, configured.name)
    logs = [] if state is None else state.left(configured.logs)
    if not logs:
        raise LaunchError(f"the settings name {configured.name}: remove it there first, on all nodes")
    await store_destinations.leave(connection, configured.name, logs)
    return f"its position in {' and '.join(logs)}, which it does not export any more, is deleted"


COMMANDS: Final[Parts] = {
    "status": (add_usual, _status),
    "retry": (_add_destination, _retry),
    "dead-letters": (_add_dead_letters, _dead_letters),
    "forget": (_add_destination, _forget),
}
