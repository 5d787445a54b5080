"""Takes batches from the stream and writes them to the database, counted by the hour of their entries."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from time import monotonic
from typing import Final, TypeVar

import msgspec
import structlog

from service.audit.collector import Counts
from service.audit.writing import Writing
from service.errors import Unavailable
from service.keyspace import Batch, Done, HourCounts, LogStream
from service.records.logs.events import Decision, Outcome
from service.records.logs.inserts import Log

_SECONDS: Final = 3600


class _Login(msgspec.Struct):
    event: str
    outcome: Outcome
    create_time: datetime


class _Operation(msgspec.Struct):
    create_time: datetime
    decision: Decision | None = None
    repetitions: int | None = None


Entry = TypeVar("Entry")

_login = msgspec.json.Decoder(_Login)
_operation = msgspec.json.Decoder(_Operation)


def hour_of(moment: datetime) -> int:
    """Return the hour of ``moment`` (aware), in hours since the epoch, UTC."""
    return int(moment.timestamp()) // _SECONDS


def activity_of(operations: Iterable[msgspec.Raw], logins: Iterable[msgspec.Raw]) -> tuple[HourCounts, ...]:
    """Return the counts of encoded entries, by hour; an entry that can't be read counts nowhere.

    An entry that stands for repeated refusals counts as often as they were repeated.
    """
    hours: defaultdict[int, HourCounts] = defaultdict(HourCounts)
    for line in logins:
        login = _decoded(_login, line)
        if login is not None and login.event == "login":
            counts = hours[hour_of(login.create_time)]
            if login.outcome == "success":
                counts.logins += 1
            else:
                counts.login_failures += 1
    for line in operations:
        operation = _decoded(_operation, line)
        if operation is not None and operation.decision is not None:
            counts = hours[hour_of(operation.create_time)]
            if operation.decision == "allow":
                counts.allowed += 1
            else:
                counts.refused += operation.repetitions or 1
    for hour, counts in hours.items():
        counts.hour = hour
    return tuple(hours.values())


def _decoded(decoder: msgspec.json.Decoder[Entry], line: msgspec.Raw) -> Entry | None:
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        return None


WRITE_EVERY: Final = 0.2
"""Seconds between two transactions, unless more batches wait than one can take."""
LOOK_EVERY: Final = 2.0
"""Seconds between two reads while this worker sends nothing: sending workers write their own entries."""
MOST_BATCHES: Final = 8
"""Batches of one transaction: half a mebibyte, which delays requests by a few milliseconds."""
RETRY_EVERY: Final = 1.0
"""Seconds between two attempts while the database or the session store is unavailable."""
CLAIM_AFTER: Final = 20.0
"""Seconds after which an unfinished batch of another worker is claimed."""
CLAIM_EVERY: Final = 1.0
"""Seconds at least between two looks for such batches."""

_log = structlog.get_logger(__name__)


class _Content(msgspec.Struct):
    """Content of a batch: encoded entries of both logs."""

    operations: list[msgspec.Raw]
    logins: list[msgspec.Raw]

    def of(self, log: Log) -> list[bytes]:
        return [bytes(line) for line in (self.operations if log == "operation_log" else self.logins)]


_read = msgspec.json.Decoder(_Content).decode


class Writer:
    """Writes the batches of ``stream``, under the name ``worker``; a batch is removed after the commit.

    A batch with an unconfirmed commit is written again, which has no effect if it was committed. While the
    database is unavailable, batches wait in the stream; batches of a dead worker are claimed by others.
    ``counts`` is updated with the outcome. ``sent`` is set when this worker has added a batch.
    """

    def __init__(
        self,
        stream: LogStream,
        writing: Writing,
        worker: str,
        counts: Counts,
        *,
        sent: asyncio.Event | None = None,
        claim_after: float = CLAIM_AFTER,
    ) -> None:
        self._sent = sent or asyncio.Event()
        self._stream = stream
        self._writing = writing
        self.worker = worker
        self._counts = counts
        self._claim_after = claim_after
        self._claim_again = 0.0
        self._unfinished = False
        self._unconfirmed: list[Done] = []
        self.held_up = False
        """True if entries wait because the last attempt failed."""

    async def run(self) -> None:
        """Write until cancelled; raises nothing else."""
        while True:
            pause, more = RETRY_EVERY, True
            self._sent.clear()
            try:
                again = self._unfinished  # if so, first the batches taken before, then new ones
                full = await self.step() == MOST_BATCHES
                pause, more = 0 if full else WRITE_EVERY, full or again
                self._say(None)
            except Unavailable as refusal:
                self._say(refusal.detail)
            except Exception:  # noqa: BLE001 - an unexpected error must not lose entries
                _log.exception("entries of the logs can't be written")
            await asyncio.sleep(pause)
            if not more:
                await self._until_sent()

    async def step(self) -> int:
        """Write as many batches as one transaction takes; return their number. Raises Unavailable."""
        again, self._unfinished = self._unfinished, True
        batches = await self._stream.take(
            self.worker, most=MOST_BATCHES, again=again, idle=0 if again else self._idle()
        )
        if again:
            # The answer to the last attempt was lost: what does not come again was removed by it.
            left = {batch.id for batch in batches}
            self.count(outcome for outcome in self._unconfirmed if outcome.batch.id not in left)
            self._unconfirmed = []
        if batches:
            self._unconfirmed = done = await self.write(batches)
            if await self._stream.done(done, self._writing.grown()):
                _log.error("entries of the logs are gone that were written", event_type="security")
            self.count(done)
            self._unconfirmed = []
        self._unfinished = again and bool(batches)
        return len(batches)

    async def drain(self) -> None:
        """Write until this worker has no batches left; waits while a store is unavailable."""
        while True:
            try:
                again = self._unfinished
                if not await self.step() and not again:
                    return
            except Unavailable:
                await asyncio.sleep(WRITE_EVERY)

    async def write(self, batches: Sequence[Batch]) -> list[Done]:
        """Write the entries of ``batches``; return the counts of each. Raises Unavailable."""
        contents = [_read(batch.content) for batch in batches]
        written, aside = [0] * len(batches), [0] * len(batches)
        for log in ("operation_log", "login_log"):
            lines = [(place, line) for place, content in enumerate(contents) for line in content.of(log)]
            refused = await self._writing.write(log, [line for _, line in lines])
            for number, (place, _) in enumerate(lines):
                (aside if number in refused else written)[place] += 1
        activity = [activity_of(content.operations, content.logins) for content in contents]
        return [Done(*outcome) for outcome in zip(batches, written, aside, activity, strict=True)]

    def count(self, done: Iterable[Done]) -> None:
        """Add the outcome of batches to this worker's counts."""
        for outcome in done:
            self._counts.written += outcome.written
            self._counts.set_aside += outcome.set_aside

    async def _until_sent(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_EVERY):
                await self._sent.wait()

    def _idle(self) -> float:
        if monotonic() < self._claim_again:
            return 0
        self._claim_again = monotonic() + CLAIM_EVERY
        return self._claim_after

    def _say(self, reason: str | None) -> None:
        if reason is not None and not self.held_up:
            _log.warning("entries of the logs wait to be written", reason=reason)
        elif reason is None and self.held_up:
            _log.info("entries of the logs are written again")
        self.held_up = reason is not None
