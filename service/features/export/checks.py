"""The check of the export to the destinations of the logs."""

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import urlsplit

from service.features.export import store_destinations
from service.features.export.store_destinations import StoredDestination
from service.kernel.clock import now
from service.kernel.text import counted, printable
from service.operator.findings import Check, Finding, Installation, fault, ok, warning
from service.settings import Destination

LATE: Final = 600.0
"""Seconds that an entry may wait before a fault is reported."""
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


async def export(installation: Installation) -> Finding:
    """Report destinations that lack entries, because they cannot alert on or prove missing entries."""
    configured = installation.settings.export.destinations
    async with installation.records() as connection:
        stored = {
            stored_destination.name: stored_destination
            for stored_destination in await store_destinations.all_stored(connection)
        }
    if not configured and not stored:
        return ok("there are no destinations")
    failing = [
        destination
        for name, destination in stored.items()
        if name in _names(configured) and _is_late(destination)
    ]
    if failing:
        sentences = (
            f"{destination.name} is behind: {printable(destination.reason or 'no process sends entries')}"
            for destination in failing
        )
        return fault(
            "; ".join(sentences),
            "check the receiver and the service, then run portcullis export retry",
        )
    if troubles := list(_troubles(configured, stored)):
        message, remedy = troubles[0]
        return warning(message, remedy)
    return ok(f"{counted(len(configured), 'destination')}, none late")


def _names(configured: Iterable[Destination]) -> set[str]:
    return {destination.name for destination in configured}


def _is_late(destination: StoredDestination) -> bool:
    since = destination.waiting_time
    return since is not None and (now() - since).total_seconds() > LATE


def _troubles(
    configured: Iterable[Destination], stored: dict[str, StoredDestination]
) -> Iterator[tuple[str, str]]:
    """Yield risks of working exports, each with a remedy."""
    for destination in stored.values():
        if destination.dead_letters:
            yield (
                f"{destination.name} has {counted(destination.dead_letters, 'dead letter')}",
                "portcullis export dead-letters shows the reasons; then run portcullis export retry",
            )
    for name in sorted(stored.keys() - _names(configured)):
        yield (
            f"{name} is no longer in the settings, but its undelivered entries are still kept",
            f"portcullis export forget {name}",
        )
    for where in configured:
        if (state := stored.get(where.name)) and (logs := state.left(where.logs)):
            left = f"{where.name} does not export {' and '.join(logs)} any more"
            yield (
                f"{left}, but its undelivered entries are still kept",
                f"portcullis export forget {where.name}",
            )
        if where.transport in ("http", "syslog+tcp") and urlsplit(where.url).hostname not in _LOOPBACK:
            yield f"{where.name} receives entries unencrypted", "use https or syslog+tls"


CHECKS: Final = (Check("export", export, local=True),)
"""Checks of the export."""
