"""The settings of events about rights."""

from dataclasses import dataclass
from typing import Final

from service.settings.checks import between
from service.settings.event_destinations import EventDestinations
from service.settings.table import setting

EVENT_CONNECTIONS: Final = 1
"""Connections of each worker to the database, for webhooks; opened only where there are destinations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Events about rights, recorded in the transaction of their cause, and sent to webhooks."""

    destinations: EventDestinations = setting(
        EventDestinations(),
        secret=True,
        shown="none",
        help="Where events are sent: in the file a table `[events.destinations.NAME]` for each, in the "
        "environment a JSON object of the same tables by name. The members are listed in "
        "[events](../guides/events.md#destinations). All nodes must have the same.",
    )
    days: int = setting(
        7,
        unit="days",
        check=between(1, 365),
        help="How long events and dead letters are kept, to be sent and sent again.",
    )

    @property
    def connections(self) -> int:
        """The connections to the database that a worker opens at most for webhooks."""
        return EVENT_CONNECTIONS if self.destinations else 0
