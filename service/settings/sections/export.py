"""The settings of the audit export."""

from dataclasses import dataclass
from typing import Final

from service.settings.checks import between
from service.settings.destinations import Destinations
from service.settings.table import setting

EXPORT_CONNECTIONS: Final = 1
"""Connections of each worker to the database, for the export; opened only where there are destinations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The export of the logs to other systems."""

    destinations: Destinations = setting(
        Destinations(),
        secret=True,
        shown="none",
        help="Where entries are sent: in the file a table `[export.destinations.NAME]` for each, in the "
        "environment a JSON object of the same tables by name. The members are listed in "
        "[audit export](audit-export.md#destinations). All nodes must have the same.",
    )
    hold_days: int = setting(
        30,
        unit="days",
        check=between(0, 3650),
        help="How much longer than `oplog.operation_days` and `oplog.login_days` a month is kept that a "
        "destination has not got completely; then it is dropped.",
    )
    decision_limit: int = setting(
        1_000_000,
        unit="events",
        check=between(1000, 100_000_000),
        help="Events of the decision log that wait in the database for a destination; further ones are "
        "dropped and counted.",
    )
    dead_letter_days: int = setting(
        30, unit="days", check=between(1, 3650), help="How long dead letters are kept to be sent again."
    )

    @property
    def connections(self) -> int:
        """The connections to the database that a worker opens at most for the export."""
        return EXPORT_CONNECTIONS if self.destinations else 0
