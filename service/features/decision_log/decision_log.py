"""The decision log: an event for each denial, and for a share of the allowed requests.

A separate thread writes the events to a file that several processes append to, or to standard output.
"""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import random
from typing import Final, Protocol

import structlog

from service.features.decision_log.appended_file import AppendedFile
from service.features.decision_log.decision_event import Event, encoded
from service.features.decision_log.event_lines import Line
from service.kernel.backlog import Backlog
from service.kernel.clock import AtMostEvery
from service.kernel.metrics import Sample

MOST_WAITING: Final = 16_384
"""Maximum waiting events; further ones are dropped. A follower creates as many in 0.1 seconds."""
MANY: Final = 1024
"""Number of events that are written without waiting for more."""
AT_ONCE: Final = 2048
"""Maximum lines written in one piece; after each piece, the thread waits for the interpreter."""
_ENCODING: Final = 8  # lines joined while an event is encoded; others wait for the interpreter
GATHER: Final = 0.05
"""Seconds that events wait, to be written together with others."""
RETRY_EVERY: Final = 1.0
"""Seconds between two attempts while the output fails."""
TELL_EVERY: Final = 10.0
"""Seconds between two log lines about dropped events."""
FINISH_WITHIN: Final = 2.0
"""Maximum seconds to write the last events when the worker ends."""

_log = structlog.get_logger(__name__)


class Output(Protocol):
    """Accepts whole lines, each with its line feed."""

    def write(self, lines: Sequence[bytes]) -> int:
        """Write ``lines``; return the number of complete ones. Raises OSError if none was written."""

    def close(self) -> None:
        """Release open resources."""


class StandardOutput:
    """Standard output, between the lines of the log."""

    def __init__(self) -> None:
        # Use the lock of the log, so that lines of both never mix.
        self._logger = structlog.BytesLogger(sys.stdout.buffer)

    def write(self, lines: Sequence[bytes]) -> int:
        """Write each line alone: a pipe accepts 4 KiB as a whole, also from several processes."""
        for line in lines:
            self._logger.msg(line.removesuffix(b"\n"))
        return len(lines)

    def close(self) -> None:
        """Leave it open."""


def output_named(output: str | Path) -> Output:
    """Return the output of the setting ``policy.decision_log``, which is not ``off``."""
    return AppendedFile(output) if isinstance(output, Path) else StandardOutput()


class DecisionWriter:
    """Accepts events without waiting, and writes them to ``output`` in order.

    ``written`` and ``dropped`` count events. While the output fails, events wait, up to ``MOST_WAITING``.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._events: Backlog[Event | Line] = Backlog(
            "decision-log", MOST_WAITING, GATHER, self._write_all, MANY
        )
        self._taken: list[bytes] = []  # lines that are being written
        self._lost = 0  # counted by the thread, as the next one
        self.written = 0
        self._telling = AtMostEvery(TELL_EVERY)
        self._fails = False

    @property
    def dropped(self) -> int:
        return self._events.missed + self._lost

    def samples(self) -> Iterator[Sample]:
        """Yield the counts since the worker started."""
        yield Sample("portcullis_decision_events_total", self.written, {"outcome": "written"})
        yield Sample("portcullis_decision_events_total", self.dropped, {"outcome": "dropped"})

    def put(self, event: Event) -> None:
        """Accept ``event``, or drop it if too many wait."""
        if not self._events.put(event):
            self._tell()

    def put_lines(self, lines: Sequence[Line]) -> None:
        """Accept encoded events; drop those without room."""
        if not self._events.put_all(lines):
            self._tell()

    def miss(self) -> None:
        """Count an event as dropped."""
        self._events.missed += 1
        self._tell()

    def start(self) -> None:
        self._events.start()

    async def finish(self) -> None:
        """Write waiting events and stop; after ``FINISH_WITHIN`` seconds, drop the rest."""
        if await self._events.finish(FINISH_WITHIN):
            await asyncio.to_thread(self._output.close)
        if lost := len(self._events.waiting) + len(self._taken):
            _log.warning("events of the decision log are lost", lost=lost)

    def _tell(self) -> None:
        if self._telling.due():
            _log.warning("events of the decision log are dropped", dropped=self.dropped)

    def _write_all(self) -> float | None:
        """Write all waiting events; return the seconds to wait if the output fails."""
        try:
            while self._taken or self._events.waiting:
                self._taken = self._taken or self._next()
                whole = self._output.write(self._taken)
                self.written += whole
                self._lost += len(self._taken) - whole
                self._taken = []
        except OSError as error:
            if not self._fails:
                _log.warning("the decision log can't be written", reason=str(error))
            self._fails = True
            return RETRY_EVERY
        if self._fails:
            _log.info("the decision log is written again", dropped=self.dropped)
        self._fails = False
        return None

    def _next(self) -> list[bytes]:
        lines = []
        work, waiting = 0, self._events.waiting
        while waiting and work < AT_ONCE:
            event = waiting.popleft()
            if isinstance(event, tuple):
                lines.append(b"".join(event))
                work += 1
                continue
            work += _ENCODING
            try:
                lines.append(encoded(event))
            except Exception:  # noqa: BLE001 - one event must not block the others
                self._lost += 1
                _log.exception("an event of the decision log can't be encoded", decision=event.decision)
        return lines


class EventSink(Protocol):
    """A receiver of events."""

    def put(self, event: Event) -> None:
        """Accept ``event``, or drop it if too many wait; never waits."""

    def put_lines(self, lines: Sequence[Line]) -> None:
        """Accept encoded events, as many as there is room for; never waits."""


class DecisionLog:
    """Accepts the events of decisions, and selects those to keep."""

    def __init__(self, writer: DecisionWriter | None, allows: float, *others: EventSink) -> None:
        """Create the log; ``allows`` is the kept share of allowed requests, from 0 to 1.

        The share is random and not by request id, because clients choose that. ``writer`` is the file or
        standard output, if any; ``others`` receive the same events.
        """
        self.writer = writer
        self._sinks = others if writer is None else (writer, *others)
        self._allows = allows

    def start(self) -> None:
        if self.writer is not None:
            self.writer.start()

    async def finish(self) -> None:
        """Write waiting events and stop, as ``DecisionWriter.finish``."""
        if self.writer is not None:
            await self.writer.finish()

    def samples(self) -> Iterator[Sample]:
        """Yield the counts since the worker started."""
        if self.writer is not None:
            yield from self.writer.samples()

    def keeps(self, *, allowed: bool) -> bool:
        """Return true if the next event of this outcome is kept: each denial, and a share of the others."""
        return not allowed or random() < self._allows  # noqa: S311 - a sample

    def put(self, event: Event) -> None:
        """Pass ``event`` to all sinks; never waits."""
        for sink in self._sinks:
            sink.put(event)

    def put_lines(self, lines: Sequence[Line]) -> None:
        """Pass encoded events to all sinks; never waits."""
        for sink in self._sinks:
            sink.put_lines(lines)

    def miss(self) -> None:
        """Count an event that could not be created as dropped."""
        if self.writer is not None:
            self.writer.miss()
