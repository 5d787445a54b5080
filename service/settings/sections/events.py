"""The settings of events about rights."""

from dataclasses import dataclass

from service.settings.checks import between
from service.settings.table import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Events about rights, recorded in the transaction of their cause."""

    days: int = setting(
        7, unit="days", check=between(1, 365), help="How long events are kept, to be sent and sent again."
    )
