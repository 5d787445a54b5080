"""``portcullis events …``: destinations of events, replays and test events."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from service.cli.lazy_commands import Parts, add_data, add_usual
from service.cli.output import aligned, say, show
from service.features.events import store_destinations
from service.features.events.sending import send_test
from service.features.events.store_destinations import StoredDestination
from service.features.webhooks.posting import PostFault
from service.kernel.clock import rfc3339
from service.kernel.text import counted, printable
from service.operator.database import with_connection
from service.operator.errors import LaunchError
from service.operator.stores import reachable
from service.settings import EventDestination, Settings, load
from service.web.messages.schema import Schema


class EventDestinationState(Schema):
    """A destination; `configured` says that the settings name it. `lag` is in seconds."""

    name: str
    configured: bool
    worker: str | None
    sent: int
    missed: int
    lag: float
    failures: int
    reason: str | None
    success_time: str | None
    stop_time: str | None
    dead_letters: int


class EventDestinationStates(Schema):
    """All destinations."""

    items: list[EventDestinationState]


def _status(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print all destinations; raises SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:
        stored = with_connection(settings, store_destinations.all_stored)
    names = {destination.name for destination in settings.events.destinations}
    states = []
    for name in sorted(names | stored.keys()):
        of = stored.get(name) or StoredDestination(name)
        states.append(
            EventDestinationState(
                name=name,
                configured=name in names,
                worker=of.worker,
                sent=of.sent,
                missed=of.missed,
                lag=round(of.lag, 1),
                failures=of.failures,
                reason=of.reason,
                success_time=None if of.success_time is None else rfc3339(of.success_time),
                stop_time=None if of.stop_time is None else rfc3339(of.stop_time),
                dead_letters=of.dead_letters,
            )
        )
    made = EventDestinationStates(items=states)
    show(options, made, lambda: aligned(_rows(made)))


def _rows(states: EventDestinationStates) -> Iterator[tuple[str, ...]]:
    yield "DESTINATION", "SENT", "LAG", "LAST SUCCESS", "DEAD LETTERS", "MISSED", "FAILS"
    for state in states.items:
        fails = f"{'stopped: ' if state.stop_time else ''}{printable(state.reason or '')}"
        yield (
            state.name,
            str(state.sent),
            f"{state.lag:g} s",
            state.success_time or "never",
            str(state.dead_letters),
            str(state.missed),
            fails if state.configured else "no longer in the settings",
        )


def _named(settings: Settings, name: str) -> EventDestination:
    by_name = {destination.name: destination for destination in settings.events.destinations}
    if name not in by_name:
        names = ", ".join(by_name) or "none"
        raise LaunchError(f"There is no such destination; events.destinations has {names}")
    return by_name[name]


def _add_replay(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the destination, one of events.destinations")
    parser.add_argument(
        "--since", metavar="TIME", type=_time, required=True, help="such as 2026-11-30T08:00:00Z"
    )
    add_data(parser)


def _time(text: str) -> datetime:
    """Return the time of ``text`` in ISO 8601, in UTC unless it says otherwise; raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _replay(options: Namespace, environ: Mapping[str, str]) -> None:
    """Set a destination back; raises LaunchError, SchemaError and Unavailable."""
    with reachable(load(environ)) as settings:
        name = _named(settings, options.name).name
        number = with_connection(
            settings, lambda connection: store_destinations.replay(connection, name, options.since)
        )
    if number is None:
        raise LaunchError("No worker has sent anything to this destination yet")
    say(f"{name}: {counted(number, 'event')} will be sent")


def _add_test(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the destination, one of events.destinations")


def _test(options: Namespace, environ: Mapping[str, str]) -> None:
    """Send a test event at once; raises LaunchError."""
    destination = _named(load(environ), options.name)
    try:
        asyncio.run(send_test(destination))
    except PostFault as refused:
        raise LaunchError(f"The event was not accepted: {refused.fault}") from None
    say(f"{destination.name} accepted the event")


COMMANDS: Final[Parts] = {
    "status": (add_usual, _status),
    "replay": (_add_replay, _replay),
    "test": (_add_test, _test),
}
