"""The decision log: an event for each denial, and for a share of the requests that were allowed.

A thread of its own writes the events to a file that several processes append to, or to standard output.
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
"""The most events that wait; further ones are dropped. A follower makes as many in a tenth of a second."""
MANY: Final = 1024
"""Events that do not wait for others."""
AT_ONCE: Final = 2048
"""The most lines that are written in one piece: after each, the thread waits for the interpreter."""
_ENCODING: Final = 8  # lines that are joined while an event is encoded: others wait for the interpreter
GATHER: Final = 0.05
"""Seconds that events wait, to be written together with others."""
RETRY_EVERY: Final = 1.0
"""Seconds between two attempts while the output takes nothing."""
TELL_EVERY: Final = 10.0
"""Seconds between two lines about dropped events."""
FINISH_WITHIN: Final = 2.0
"""Seconds for the last events when the worker ends."""

_log = structlog.get_logger(__name__)


class Output(Protocol):
    """Takes whole lines, each with its line feed."""

    def write(self, lines: Sequence[bytes]) -> int:
        """Write ``lines``; return how many are there as a whole. Raises OSError if none was written."""

    def close(self) -> None:
        """Close the file."""


class StandardOutput:
    """Standard output, between the lines of the log."""

    def __init__(self) -> None:
        # The same lock as the log: lines of both never mix.
        self._logger = structlog.BytesLogger(sys.stdout.buffer)

    def write(self, lines: Sequence[bytes]) -> int:
        """Write each line by itself: a pipe takes 4 KiB as a whole, also from several processes."""
        for line in lines:
            self._logger.msg(line.removesuffix(b"\n"))
        return len(lines)

    def close(self) -> None:
        """Leave it open."""


def output_named(output: str | Path) -> Output:
    """Return the output of the setting ``policy.decision_log``, which is not ``off``."""
    return AppendedFile(output) if isinstance(output, Path) else StandardOutput()


class DecisionWriter:
    """Takes events without ever waiting, and writes them to ``output`` in order.

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
        """Number of dropped events."""
        return self._events.missed + self._lost

    def samples(self) -> Iterator[Sample]:
        """Yield the counts since the worker started."""
        yield Sample("portcullis_decision_events_total", self.written, {"outcome": "written"})
        yield Sample("portcullis_decision_events_total", self.dropped, {"outcome": "dropped"})

    def put(self, event: Event) -> None:
        """Take ``event``, or drop it if too many wait."""
        if not self._events.put(event):
            self._tell()

    def put_lines(self, lines: Sequence[Line]) -> None:
        """Take events that are encoded already; drop those that find no room."""
        if not self._events.put_all(lines):
            self._tell()

    def miss(self) -> None:
        """Count an event as dropped."""
        self._events.missed += 1
        self._tell()

    def start(self) -> None:
        """Start writing."""
        self._events.start()

    async def finish(self) -> None:
        """Write what waits and end; what can't be written within ``FINISH_WITHIN`` seconds is dropped."""
        if await self._events.finish(FINISH_WITHIN):
            await asyncio.to_thread(self._output.close)
        if lost := len(self._events.waiting) + len(self._taken):
            _log.warning("events of the decision log are lost", lost=lost)

    def _tell(self) -> None:
        if self._telling.due():
            _log.warning("events of the decision log are dropped", dropped=self.dropped)

    def _write_all(self) -> float | None:
        """Write all waiting events; if the output takes none, they wait for the seconds returned."""
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
            except Exception:  # noqa: BLE001 - one event must not hold up the others
                self._lost += 1
                _log.exception("an event of the decision log can't be encoded", decision=event.decision)
        return lines


class EventSink(Protocol):
    """A destination of events."""

    def put(self, event: Event) -> None:
        """Take ``event``, or drop it if too many wait; never waits."""

    def put_lines(self, lines: Sequence[Line]) -> None:
        """Take events that are encoded already, as many as there is room for; never waits."""


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

    def put_lines(self, lines: Sequence[Line]) -> None:
        """Hand events that are encoded already to all sinks; never waits."""
        for sink in self._sinks:
            sink.put_lines(lines)

    def miss(self) -> None:
        """Count an event that could not be made as dropped."""
        if self.writer is not None:
            self.writer.miss()
