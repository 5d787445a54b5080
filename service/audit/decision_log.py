"""The decision log: an event for each denial, and for a share of the requests that were allowed."""

from __future__ import annotations

from collections.abc import Iterator
from random import random
from typing import Protocol

from service.audit.decision_event import Event, encoded
from service.audit.decision_writer import DecisionWriter, output_named
from service.audit.export.outbox import DecisionOutbox
from service.kernel.metrics import Sample
from service.settings import Policy


class EventSink(Protocol):
    """Where events go."""

    def put(self, event: Event) -> None:
        """Take ``event``, or drop it if too many wait; never waits."""


class DecisionLog:
    """Takes the events of decisions, and says which of them are wanted."""

    def __init__(self, writer: DecisionWriter | None, allows: float, *others: EventSink) -> None:
        """``allows`` is the share of the allowed requests that are kept, 0 to 1.

        They are chosen at random and not by the request id, since clients choose that. ``writer`` is the file
        or standard output, if there is one; ``others`` get the same events.
        """
        self.writer = writer
        self._sinks = others if writer is None else (writer, *others)
        self._allows = allows

    def start(self) -> None:
        """Start writing."""
        if self.writer is not None:
            self.writer.start()

    async def finish(self) -> None:
        """Write what waits and end, as ``DecisionWriter.finish``."""
        if self.writer is not None:
            await self.writer.finish()

    def samples(self) -> Iterator[Sample]:
        """Yield the counts since the worker started."""
        if self.writer is not None:
            yield from self.writer.samples()

    def keeps(self, *, allowed: bool) -> bool:
        """True if the next event of this outcome is to be made: each denial, and a share of the others."""
        return not allowed or random() < self._allows  # noqa: S311 - a sample

    def put(self, event: Event) -> None:
        """Hand ``event`` to all sinks; never waits."""
        for sink in self._sinks:
            sink.put(event)

    def miss(self) -> None:
        """Count an event that could not be made as dropped."""
        if self.writer is not None:
            self.writer.miss()


class _Exported:
    def __init__(self, outbox: DecisionOutbox) -> None:
        self._outbox = outbox

    def put(self, event: Event) -> None:
        self._outbox.put(encoded(event))


def decision_log(settings: Policy, outbox: DecisionOutbox | None = None) -> DecisionLog | None:
    """Return the log that the settings name, also to be exported by ``outbox``; None if it goes nowhere."""
    is_off = settings.decision_log == "off"
    if is_off and outbox is None:
        return None
    writer = None if is_off else DecisionWriter(output_named(settings.decision_log))
    others = () if outbox is None else (_Exported(outbox),)
    return DecisionLog(writer, settings.decision_log_allows, *others)
