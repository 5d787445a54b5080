"""Takes entries from requests without making them wait; repetitions of a refused read are counted."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from time import monotonic
from typing import Final

import msgspec
import structlog
from msgspec.structs import replace

from service.audit.entries import Event, encode
from service.records.logs.events import LoginEvent, OperationEvent

RecordLogin = Callable[[LoginEvent], None]
"""Takes one login event; returns at once, and raises nothing."""

BATCH_BYTES: Final = 65_536
"""Bytes of a batch at most, except for a single longer entry."""

_SAY_EVERY: Final = 10.0  # seconds

_log = structlog.get_logger(__name__)


class Counts(msgspec.Struct):
    """Counts of one worker since it started; they add up only over all workers.

    ``accepted`` and ``dropped`` count the worker's own entries; ``written`` and ``set_aside`` those taken
    from the stream, accepted by any worker.
    """

    accepted: int = 0
    written: int = 0
    dropped: int = 0
    set_aside: int = 0


@dataclass(frozen=True, slots=True)
class Bundle:
    """Entries sent together; ``number`` increases with each bundle of a worker.

    ``dropped`` are the entries dropped since the bundle before. A retry sends the same number: the stream may
    have accepted the first attempt, and then ignores the repetition whole.
    """

    number: int
    content: bytes
    count: int
    dropped: int
    size: int


class Collector:
    """Holds at most ``limit`` bytes of entries until they are sent; more are dropped and counted.

    An entry is encoded when it is taken, so later changes to its values do not affect it.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.held = 0
        """Bytes of entries held."""
        self._operations: list[bytes] = []
        self._logins: list[bytes] = []
        self._bundle: Bundle | None = None
        self._number = 0
        self._dropped_told = 0
        self._say_again = 0.0
        self.counts = Counts()
        self.waiting = 0
        """Number of entries held."""
        self.filled = asyncio.Event()
        """Set while entries wait."""

    def operation(self, event: OperationEvent) -> None:
        """Take an entry of the operation log; returns at once, and raises nothing."""
        self._take(event, self._operations)

    def login(self, event: LoginEvent) -> None:
        """Take an entry of the login log; returns at once, and raises nothing."""
        self._take(event, self._logins)

    def bundle(self) -> Bundle | None:
        """Return the next entries to send, the same ones until ``handed_on``; None if there are none."""
        if self._bundle is None and (self._operations or self._logins):
            operations, logins = _cut(self._operations), _cut(self._logins)
            content = b'{"operations":[%b],"logins":[%b]}' % (b",".join(operations), b",".join(logins))
            self._number += 1
            size = sum(map(len, operations)) + sum(map(len, logins))
            dropped = self.counts.dropped - self._dropped_told
            self._dropped_told = self.counts.dropped
            self._bundle = Bundle(self._number, content, len(operations) + len(logins), dropped, size)
        return self._bundle

    def handed_on(self) -> None:
        """Drop the current bundle: the stream or the database has it."""
        if self._bundle is not None:
            self.held -= self._bundle.size
            self.waiting -= self._bundle.count
            self._bundle = None
        if not (self._operations or self._logins):
            self.filled.clear()

    def tally(self) -> dict[str, int]:
        """Return the counts by name, for the log on standard output."""
        return {**msgspec.structs.asdict(self.counts), "waiting": self.waiting}

    def _take(self, event: Event, waiting: list[bytes]) -> None:
        self.counts.accepted += 1
        try:
            line = encode(event)
        except Exception:  # noqa: BLE001 - no entry may make its request fail
            _log.exception("an entry of the logs could not be encoded", event_id=str(event.event_id))
            self._drop()
            return
        if self.held + len(line) > self._limit:
            self._drop()
            return
        self.held += len(line)
        self.waiting += 1
        waiting.append(line)
        self.filled.set()

    def _drop(self) -> None:
        self.counts.dropped += 1
        if monotonic() >= self._say_again:
            self._say_again = monotonic() + _SAY_EVERY
            _log.error("entries of the logs are dropped", **self.tally())


def _cut(waiting: list[bytes]) -> list[bytes]:
    """Take entries off the front of ``waiting``, as many as a batch holds."""
    size = count = 0
    for line in waiting:
        size += len(line)
        if count and size > BATCH_BYTES:
            break
        count += 1
    taken = waiting[:count]
    del waiting[:count]
    return taken


WITHIN: Final = 60.0
"""Seconds after a refusal in which the same one is only counted."""
MOST: Final = 1024
"""Refusals of which one worker counts the repetitions at a time."""


@dataclass(slots=True)
class _Counted:
    """The repetitions of a refusal: the first one, how many there were, and when they are entered."""

    until: float
    event: OperationEvent | None = None
    number: int = 0


class RefusedReads:
    """Hands entries to ``record``, which returns at once and raises nothing.

    A caller who asks for the same again and again makes two entries a minute and not one for each request.
    Memory is bounded: when too many differ, the oldest is entered and forgotten before its minute is over.
    """

    def __init__(
        self, record: Callable[[OperationEvent], None], *, within: float = WITHIN, most: int = MOST
    ) -> None:
        """``within`` is in seconds."""
        self._record = record
        self._within = within
        self._most = most
        self._counted: OrderedDict[Hashable, _Counted] = (
            OrderedDict()
        )  # by the time of the first, the oldest first
        self._timer: asyncio.TimerHandle | None = None

    def note(self, refusal: Hashable, event_of: Callable[[], OperationEvent]) -> None:
        """Enter a refusal, or count it: those are equal whose ``refusal`` is. Never waits.

        To be called in the event loop; raises what ``event_of`` raises.
        """
        counted = self._counted.get(refusal)
        if counted is not None:
            if counted.event is None:
                counted.event = event_of()
            counted.number += 1
            return
        self._record(event_of())
        if len(self._counted) >= self._most:
            self._enter_oldest()
        loop = asyncio.get_running_loop()
        self._counted[refusal] = _Counted(loop.time() + self._within)
        if self._timer is None:
            self._timer = loop.call_later(self._within, self._enter_due)

    def finish(self) -> None:
        """Enter all that was counted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._counted:
            self._enter_oldest()

    def _enter_due(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        while self._counted:
            oldest = next(iter(self._counted.values()))
            if oldest.until > loop.time():
                self._timer = loop.call_at(oldest.until, self._enter_due)
                return
            self._enter_oldest()

    def _enter_oldest(self) -> None:
        _, counted = self._counted.popitem(last=False)
        if counted.event is not None:
            self._record(replace(counted.event, repetitions=counted.number))
