"""Send the entries of one destination, in order, while this worker holds its lease."""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Final, Literal
from uuid import UUID

import structlog

from service.errors import Unavailable
from service.features.export import store_destinations, store_entries
from service.features.export.entry import Failed, Refused, Waiting, encoded, entry_of
from service.features.export.receivers import Receiver, receiver_of
from service.features.export.schema import NewDeadLetter
from service.features.export.store_destinations import StoredDestination
from service.features.export.store_entries import StoredEntry
from service.kernel.cooperative_yield import CooperativeYield
from service.records.database.transactions import Connection, Database
from service.settings import Destination, ExportLog

LOOK_EVERY: Final = 5.0
"""Seconds between two looks of a worker without the lease, because the leaseholder may be gone."""
POLL_EVERY: Final = 1.0
"""Seconds between two looks for new entries."""
FIRST_BACKOFF: Final = 1.0
"""Seconds before the second attempt; each further wait is twice as long, with jitter."""
LONGEST_BACKOFF: Final = 300.0
LONGEST_ASKED: Final = 3600.0
"""Seconds of a ``Retry-After`` that are honoured."""
ISOLATE_AFTER: Final = 10
"""Failed attempts with status 500 after which the entry that causes them is searched."""
MOST_BYTES: Final = 1_048_576
"""Maximum bytes of a batch in the native format; a single entry may be longer."""
_LEASE_MARGIN: Final = 15.0  # seconds beyond two attempts
_PART: Final = 50  # entries created between two yields to the event loop

_log = structlog.get_logger(__name__)


class Delivery:
    """Sends to one destination. A lease in the database selects one worker of all nodes.

    An entry is recorded as sent once the receiver has accepted it. If a worker is killed between these two
    steps, the next worker sends the entry again.
    """

    def __init__(
        self, destination: Destination, database: Database, worker: str, *, look_every: float = LOOK_EVERY
    ) -> None:
        self.destination: Final = destination
        self.counts: Final = {"sent": 0, "dead": 0}
        """Numbers of entries sent and refused by this worker since its start."""
        self.state: StoredDestination | None = None
        """State at the last look."""
        self._database = database
        self.worker = worker
        self._look_every = look_every
        self._lease = 2 * destination.timeout + _LEASE_MARGIN
        self._leased_until = 0.0
        self._receiver: Receiver | None = None
        self._fails = False  # as logged

    async def run(self) -> None:
        """Look and send until cancelled; raises nothing else."""
        while True:
            try:
                wait = await self.step()
            except Unavailable:
                wait = self._look_every
            except Exception:  # noqa: BLE001 - an unexpected error must not end the export
                _log.exception("the export failed", destination=self.destination.name)
                wait = self._look_every
            await asyncio.sleep(wait * (0.75 + secrets.randbelow(500) / 1000))

    async def step(self) -> float:
        """Send one batch of each log, if this worker may; return the seconds to wait. Raises Unavailable."""
        state = await self._look()
        if state is None:
            return self._look_every
        if state.due_in is not None and state.due_in > 0:
            return min(state.due_in, self._look_every)
        sent, more = False, False
        for log in self.destination.logs:
            position = state.position(log)
            if position is None:
                continue
            try:
                outcome = await self._deliver(log, position, state)
            except _TakenOver:
                return self._look_every
            except _Later as later:
                return min(later.seconds, self._look_every)
            sent, more = sent or outcome != "none", more or outcome == "more"
        if state.failures or (not sent and state.waiting_time):
            await self._settle()
        return 0.0 if more else POLL_EVERY

    async def close(self) -> None:
        """Release the lease, and close the connection to the receiver."""
        with suppress(Unavailable):
            async with self._database.transaction() as connection:
                await store_destinations.release(connection, self.destination.name, self.worker)
        if self._receiver is not None:
            await self._receiver.close()

    async def _look(self) -> StoredDestination | None:
        """Return the state if this worker holds the lease, else None."""
        name = self.destination.name
        async with self._database.transaction() as connection:
            state = await store_destinations.stored(connection, name)
            if state is None:
                await store_destinations.add(connection, name)
                state = await store_destinations.stored(connection, name)
            self.state = state
            if state is None:
                return None
            mine = state.worker == self.worker
            left = state.leased_for or 0.0
            if not mine and state.worker is not None and 0 < left <= self._lease:
                return None
            if not (mine and self._lease / 2 < left <= self._lease):
                if not await self._renew(connection):
                    return None
            else:
                self._leased_until = monotonic() + left
            if any(state.position(log) is None for log in self.destination.logs):
                await self._begin(connection, state)
                self.state = state = await store_destinations.stored(connection, name)
        return state

    async def _renew(self, connection: Connection) -> bool:
        begun = monotonic()
        if not await store_destinations.lease(connection, self.destination.name, self.worker, self._lease):
            return False
        self._leased_until = begun + self._lease
        return True

    async def _begin(self, connection: Connection, state: StoredDestination) -> None:
        for log in self.destination.logs:
            if state.position(log) is None:
                begins_now = self.destination.start == "now"
                position = await store_entries.last(connection, log) if begins_now else 0
                await store_destinations.begin(connection, self.destination.name, log, position)

    async def _settle(self) -> None:
        """Record that no log fails: all entries were accepted, or failed ones were deleted from their log."""
        async with self._database.transaction() as connection:
            await store_destinations.settle(connection, self.destination.name, self.worker)
        if self._fails:
            self._fails = False
            _log.info("an export works again", destination=self.destination.name)

    async def _deliver(
        self, log: ExportLog, position: int, state: StoredDestination
    ) -> Literal["none", "all", "more"]:
        """Send the next batch of ``log``; return how much was there. Raises _Later and _TakenOver."""
        async with self._database.transaction() as connection:
            stored_entries = await store_entries.after(connection, log, position, self.destination.batch + 1)
        if not stored_entries:
            return "none"
        try:
            waiting = await _read(log, stored_entries)
            batch = _fitting(waiting, self.destination.batch)
            refused = await self._sent(log, batch, state)
        except Failed as failure:
            raise await self._note(failure, stored_entries[0], state) from None
        except (_TakenOver, Unavailable):
            raise
        except Exception as error:  # noqa: BLE001 - report where operators look, besides the log
            _log.exception("the export failed", destination=self.destination.name)
            fault = Failed(f"an error of the service (see its log): {type(error).__name__}")
            raise await self._note(fault, stored_entries[0], state) from None
        rest = waiting[len(batch)].create_time if len(waiting) > len(batch) else None
        async with self._database.transaction() as connection:
            for pending, reason in refused:
                await self._bury(connection, log, pending, reason)
            if not await store_destinations.advance(
                connection,
                self.destination.name,
                self.worker,
                log=log,
                position=batch[-1].position,
                sent=len(batch) - len(refused),
                waiting_time=state.waiting_time if state.failures else rest,  # another log may fail
            ):
                raise _TakenOver
            if log == "decisions":
                await store_entries.forget_sent_decisions(connection)
        self.counts["sent"] += len(batch) - len(refused)
        self.counts["dead"] += len(refused)
        return "all" if rest is None else "more"

    async def _bury(self, connection: Connection, log: ExportLog, pending: Waiting, reason: str) -> None:
        text = encoded(pending.entry).decode()
        name = self.destination.name
        letter = NewDeadLetter(name, log, UUID(pending.entry.id), reason, text)
        await store_entries.add_dead_letter(connection, letter)
        _log.error("an entry is a dead letter", destination=name, log=log, id=pending.entry.id, reason=reason)

    async def _sent(
        self, log: ExportLog, batch: Sequence[Waiting], state: StoredDestination
    ) -> list[tuple[Waiting, str]]:
        """Send ``batch``; return the entries that the receiver refuses, with reasons. Raises Failed.

        An entry counts as refused only if the receiver accepts another one. A receiver that accepts none has
        another fault, and nothing is skipped.
        """
        try:
            await self._attempt(batch)
        except Failed as failure:
            if not _is_of_one(failure, state.failures):
                raise
            refused = await self._refused(batch, failure, state.failures)
            if len(refused) == len(batch) and not await self._takes_another(log, len(batch), state):
                raise
            return refused
        return []

    async def _takes_another(self, log: ExportLog, refused: int, state: StoredDestination) -> bool:
        """Return true if the receiver accepts its last accepted entry again. Raises Failed.

        Sent only for one refused entry, or after many attempts: a receiver that refuses several entries and
        accepts none more likely has another fault.
        """
        if not state.sent or (refused > 1 and state.failures < ISOLATE_AFTER):
            return False
        position = state.position(log) or 0
        async with self._database.transaction() as connection:
            taken = await store_entries.last_taken(connection, log, position, self.destination.name)
        if taken is None:
            return False
        try:
            await self._attempt(await _read(log, [taken]))
        except Refused:
            return False
        return True

    async def _refused(
        self, batch: Sequence[Waiting], failure: Failed, failures: int
    ) -> list[tuple[Waiting, str]]:
        """Send a refused batch in halves, recursively; return the entries that are refused alone."""
        if len(batch) == 1:
            return [(batch[0], str(failure))]
        middle = len(batch) // 2
        refused = []
        for part in (batch[:middle], batch[middle:]):
            try:
                await self._attempt(part)
            except Failed as cause:
                if not _is_of_one(cause, failures):
                    raise
                refused += await self._refused(part, cause, failures)
        return refused

    async def _attempt(self, batch: Sequence[Waiting]) -> None:
        if self._leased_until - monotonic() < self.destination.timeout + _LEASE_MARGIN / 2:
            async with self._database.transaction() as connection:
                if not await self._renew(connection):
                    raise _TakenOver
        if self._receiver is None:
            self._receiver = receiver_of(self.destination)
        await self._receiver.send([pending.entry for pending in batch])

    async def _note(self, failure: Failed, first: StoredEntry, state: StoredDestination) -> Exception:
        """Record a failed attempt; return the exception for ``_deliver``."""
        wait = backoff(state.failures) if failure.retry_after is None else failure.retry_after
        wait = min(max(wait, backoff(0)), LONGEST_ASKED)
        name, reason = self.destination.name, str(failure)
        async with self._database.transaction() as connection:
            held = await store_destinations.fail(
                connection, name, self.worker, reason=reason, again_in=wait, waiting_time=first.create_time
            )
        if not self._fails or state.reason != reason:
            self._fails = True
            _log.warning("an export fails", destination=name, reason=reason, again_in=round(wait, 1))
        return _Later(wait) if held else _TakenOver()


class _Later(Exception):  # noqa: N818 - an outcome
    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class _TakenOver(Exception):  # noqa: N818 - an outcome
    """Another worker has taken the lease and sends the batch again."""


def backoff(failures: int) -> float:
    """Return the seconds to wait after a failed attempt after ``failures`` others; half of it is random."""
    whole = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2.0 ** min(failures, 20))
    return whole * (0.5 + secrets.randbelow(500) / 1000)


def _is_of_one(failure: Failed, failures: int) -> bool:
    """Return true if one entry can be the cause: it was refused, or the receiver fails repeatedly."""
    return isinstance(failure, Refused) or (failure.internal and failures >= ISOLATE_AFTER)


async def _read(log: ExportLog, stored_entries: Sequence[StoredEntry]) -> list[Waiting]:
    """Return the entries of ``log`` in export form; yields to other tasks every few entries."""
    waiting, pauses = [], CooperativeYield()
    for place, stored in enumerate(stored_entries):
        entry = entry_of(log, stored)
        waiting.append(Waiting(stored.id, stored.create_time, entry, len(encoded(entry))))
        if place % _PART == _PART - 1:
            await pauses.give_way()
    return waiting


def _fitting(waiting: Sequence[Waiting], most: int) -> Sequence[Waiting]:
    """Return the first entries for one batch: at most ``most`` and ``MOST_BYTES``, but at least one."""
    length = 0
    for place, pending in enumerate(waiting[:most]):
        length += pending.length
        if length > MOST_BYTES:
            return waiting[: max(1, place)]
    return waiting[:most]
