"""Intents: entries saved with each change, and written later if the change's own entry was lost.

Entries are written in batches after the request, through a worker's memory and the session store; a crash of
either loses them. So each transaction that changes records for a request also saves an intent: the entry as
far as known then. The writer of the entry deletes the intent. A remaining intent becomes the entry, with the
status 499, since the answer is unknown.
"""

import asyncio
from time import monotonic
from typing import Final
from uuid import UUID

import structlog
from msgspec.structs import replace

from service.audit.entries import encode
from service.audit.redaction import kept_changes
from service.audit.writing import Writing
from service.errors import Unavailable
from service.kernel.origin import ORIGIN, ChangeRecord, Origin
from service.keyspace import LogStream
from service.records.database.transactions import Connection, Database
from service.records.logs import inserts
from service.records.logs.events import OperationEvent

OVERDUE: Final = 30.0
"""Seconds after which the entry of a change is taken for lost, if all entries are written promptly meanwhile.

A request has at most a few seconds of work left when it has committed."""
PROMPT: Final = 5.0
"""Seconds that the oldest entry may wait in the session store, else nothing is taken for lost."""
LOOK_EVERY: Final = 5.0
"""Seconds between two looks of a worker for intents that stay."""
UNKNOWN: Final = 499
"""The status of an entry whose answer is unknown; unanswered requests have the same."""

_KINDS: Final = frozenset({"INSERT", "UPDATE", "DELETE", "IMPORT", "BAN"})
_MOST: Final = 10_000  # intents that one look compares with those of the look before
_AT_ONCE: Final = 100  # entries that are written in one transaction

_log = structlog.get_logger(__name__)


def save_intent(connection: Connection) -> None:
    """Save the changes of the current request in the transaction of ``connection``.

    Does nothing outside of requests, and for operations that are not logged or change no records. Does
    nothing for transactions that have written nothing, or if an earlier transaction of the request saved the
    same.
    """
    origin = ORIGIN.get()
    if origin is None:
        return
    try:
        _save(connection, origin)
    except Exception:  # noqa: BLE001 - as with the entry itself, no request fails for it
        _log.exception("an intent can't be made", request_id=origin.request_id)


def _save(connection: Connection, origin: Origin) -> None:
    if origin.recorded is None:
        origin.recorded = ChangeRecord()
    record = origin.recorded
    targets, changes = record.with_saving()
    content = targets, len(changes)
    if content == record.intent or (entry := _entry(origin)) is None:
        return

    def committed(rows: int) -> None:
        if rows:
            record.intent = content

    record.entry = entry.event_id, entry.create_time
    intent = replace(
        entry,
        status=UNKNOWN,
        error="unanswered",
        targets=targets or None,
        changes=kept_changes(changes) if changes else None,
        change_count=len(changes) or None,
    )
    inserts.save_intent(connection, *record.entry, encode(intent), committed)


def _entry(origin: Origin) -> OperationEvent | None:
    """Return the entry of a request that may change records, as far as it is known."""
    entry = origin.entry()
    return entry if isinstance(entry, OperationEvent) and entry.kind in _KINDS else None


class Recovery:
    """Writes the entries of changes whose own entry was lost; every worker may do so.

    An entry counts as lost if this worker has seen its intent for ``after`` seconds. Both stores must have
    been available all that time, and no other entry may have waited for long.
    """

    def __init__(
        self, database: Database, stream: LogStream, writing: Writing, *, after: float = OVERDUE
    ) -> None:
        self._database = database
        self._stream = stream
        self._writing = writing
        self._after = after
        self._since: dict[UUID, float] = {}

    async def run(self) -> None:
        """Check every ``LOOK_EVERY`` seconds, until cancelled; raises nothing else."""
        while True:
            await asyncio.sleep(min(LOOK_EVERY, self._after))
            try:
                await self.once()
            except Unavailable:
                continue
            except Exception:  # noqa: BLE001 - an unexpected error must not stop the next look
                _log.exception("entries of changes can't be recovered")

    async def once(self) -> int:
        """Write the entries of overdue intents; return how many. Raises Unavailable."""
        seen, self._since = self._since, {}
        if (await self._stream.queue()).oldest > PROMPT:
            return 0
        async with self._database.snapshot() as connection:
            now = monotonic()
            self._since = {
                each: seen.get(each, now) for each in await inserts.oldest_intents(connection, _MOST)
            }
        overdue = [event_id for event_id, since in self._since.items() if now - since >= self._after]
        recovered = 0
        for first in range(0, len(overdue), _AT_ONCE):
            recovered += await self._recover(overdue[first : first + _AT_ONCE])
        if recovered:
            _log.warning("entries of changes were recovered", entries=recovered)
        return recovered

    async def _recover(self, event_ids: list[UUID]) -> int:
        async with self._database.transaction() as connection:
            # A version before 0.3.0 writes entries and does not know of intents.
            await inserts.settle_written_intents(connection, event_ids)
            lost = await inserts.entries_of_intents(connection, event_ids)
        aside = await self._writing.write("operation_log", list(lost.values()))
        async with self._database.transaction() as connection:
            await inserts.settle_intents(connection, lost)
        return len(lost) - len(aside)
