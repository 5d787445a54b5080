"""The receivers of entries, made from the settings of destinations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from service.audit.export.entry import Encoding, Entry, encoded
from service.audit.export.ocsf import ocsf_event
from service.settings import Destination


class Receiver(Protocol):
    """Takes batches of entries."""

    async def send(self, entries: Sequence[Entry]) -> None:
        """Send ``entries`` in their order, and return when all were taken. Raises Failed and Refused.

        An attempt ends within the ``timeout`` of the destination. Of a failed one the receiver may have got
        some or all entries.
        """

    async def close(self) -> None:
        """Release what is open."""


_ENCODINGS: Final[dict[str, Encoding]] = {"json": encoded, "ocsf": ocsf_event}


def receiver_of(destination: Destination) -> Receiver:
    """Return the receiver of ``destination``; what it needs is imported only now. Raises Failed."""
    encoding = _ENCODINGS[destination.format]
    if destination.transport in ("http", "https"):
        from service.audit.export.webhook import Webhook

        return Webhook(destination, encoding)
    if destination.transport == "file":
        from service.audit.export.file import ExportFile

        return ExportFile(Path(destination.path), encoding, destination.timeout)
    from service.audit.export.syslog import Syslog

    return Syslog(destination, encoding)
