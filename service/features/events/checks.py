"""The check of the destinations of events."""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from service.features.events import store, store_destinations
from service.features.events.store_destinations import StoredDestination
from service.kernel.clock import rfc3339
from service.kernel.text import counted, printable
from service.operator.findings import Check, Finding, Installation, fault, ok, warning
from service.settings import EventDestination

LATE: Final = 600.0
"""Seconds that an event may wait before doctor reports it."""


async def events(installation: Installation) -> Finding:
    """Report that events are not recorded, and destinations that do not get them."""
    destinations = installation.settings.events.destinations
    async with installation.records() as connection:
        recording = await store.is_recording(connection)
        stored = await store_destinations.all_stored(connection)
    if not recording:
        return warning(
            "events about rights are not recorded: no node has started, or one with features.off = events",
            "set features.off alike on all nodes, then start a node",
        )
    for destination in destinations:
        state = stored.get(destination.name)
        if state is not None and state.stop_time is not None:
            name = destination.name
            return fault(
                f"{name} is stopped since {rfc3339(state.stop_time)}: {printable(state.reason or '')}",
                f"correct its url and restart, then run portcullis events replay {name} --since TIME",
            )
        if state is not None and state.lag > LATE:
            return fault(
                f"{destination.name} is behind: {printable(state.reason or 'no process sends events')}",
                f"see docs/guides/events.md, then run portcullis events test {destination.name}",
            )
    if trouble := next(_troubles(destinations, stored), None):
        return warning(*trouble)
    return ok(f"{counted(len(destinations), 'destination')}, none late")


def _troubles(
    destinations: tuple[EventDestination, ...], stored: Mapping[str, StoredDestination]
) -> Iterator[tuple[str, str]]:
    """Yield risks of destinations that work, each with a remedy."""
    for destination in destinations:
        name, state = destination.name, stored.get(destination.name)
        if state is not None and state.dead_letters:
            yield (
                f"{name} has {counted(state.dead_letters, 'dead letter')}",
                f"see their reasons, then run portcullis events replay {name} --since TIME",
            )
        if state is not None and state.missed:
            yield (
                f"{name} was behind for longer than events.days: {counted(state.missed, 'event')} missed",
                "compare the receiver with the roles of users",
            )
        if urlsplit(destination.url).scheme == "http":
            yield f"{name} receives events unencrypted", "use https"


CHECKS: Final = (Check("events", events, local=True, after="export"),)
"""The check of the destinations."""
