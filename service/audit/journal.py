"""The journal of one worker: collector, sender, writer and maintenance of the logs.

``enter`` is for commands and jobs.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from time import perf_counter
from typing import Any, Final

import structlog

from service.audit.collector import Collector, RefusedReads
from service.audit.intents import OVERDUE, Recovery
from service.audit.key_chain import Chain
from service.audit.redaction import kept_changes
from service.audit.stream_consumer import CLAIM_AFTER, Writer
from service.audit.writing import upkeep_of, writing_of
from service.errors import Unavailable
from service.kernel.metrics import Health
from service.kernel.origin import OPERATOR, FieldChange
from service.keyspace import Batch, LogCounts, LogStream, SessionStore
from service.records.database.transactions import Database
from service.records.logs.events import OperationEvent
from service.settings import Oplog, Settings

FLUSH_EVERY: Final = 0.05
"""Seconds that entries wait, to be sent together with others."""
RETRY_EVERY: Final = 0.25
"""Seconds between two attempts while the stream takes no entries."""


class Sender:
    """Sends the bundles of ``collector`` under the name ``worker``.

    A bundle is sent until the stream confirms it; the stream stores it once. While the session store is
    unavailable or the stream is full, entries wait in the collector. ``sent`` is set whenever the stream has
    taken a bundle.
    """

    def __init__(self, collector: Collector, stream: LogStream, worker: str, most_bytes: int) -> None:
        self._collector = collector
        self._stream = stream
        self.worker = worker
        self._most_bytes = most_bytes
        self.sent = asyncio.Event()
        self.held_up = False
        """True if entries wait because the last attempt failed."""

    async def run(self) -> None:
        """Send until cancelled; raises nothing else."""
        while True:
            await self._collector.filled.wait()
            await asyncio.sleep(FLUSH_EVERY)
            if not await self.send_all():
                await asyncio.sleep(RETRY_EVERY)

    async def send_all(self) -> bool:
        """Send all waiting entries; False if the stream did not take them."""
        try:
            while bundle := self._collector.bundle():
                taken = await self._stream.add(
                    self.worker,
                    bundle.number,
                    bundle.content,
                    count=bundle.count,
                    dropped=bundle.dropped,
                    most_bytes=self._most_bytes,
                )
                if not taken:
                    return self._say("the stream is full: the database cannot keep up")
                self.sent.set()
                self._collector.handed_on()
        except Unavailable:
            return self._say("the session store is unavailable")
        except Exception:  # noqa: BLE001 - an unexpected error must not lose entries
            _log.exception("entries of the logs can't be sent")
            return False
        if self.held_up:
            _log.info("entries of the logs are sent again", **self._collector.tally())
        self.held_up = False
        return True

    def _say(self, reason: str) -> bool:
        if not self.held_up:
            _log.warning("entries of the logs wait in memory", reason=reason, **self._collector.tally())
        self.held_up = True
        return False


LOG_CONNECTIONS: Final = 2
"""Connections of each worker to the database, for the logs."""
WITHIN: Final = 10.0
"""Seconds that a transaction may take: the time limit of the journal's own database pool."""
PATIENCE: Final = 5.0
"""Seconds that the last entries may take at shutdown."""
_TELL_WITHIN: Final = 0.5  # seconds for asking the store; less than a readiness check may take

_log = structlog.get_logger(__name__)


class Journal:
    """Collects entries, sends them to ``stream`` and writes entries of all workers, until ``finish``.

    ``database`` is a pool of its own, with the time limit ``WITHIN``: no request waits for a connection that
    writes logs. ``worker`` is a name that no other process has ever had. ``hold_days`` is
    that of ``Upkeep``.
    """

    def __init__(
        self,
        settings: Oplog,
        database: Database,
        stream: LogStream,
        worker: str,
        *,
        claim_after: float = CLAIM_AFTER,
        recover_after: float = OVERDUE,
        hold_days: int = 0,
    ) -> None:
        self._database = database
        self._stream = stream
        self._worker = worker
        self._tasks: list[asyncio.Task[None]] = []
        self.finished = False
        self.collector = Collector(settings.memory_limit)
        self.refused_reads = RefusedReads(self.collector.operation)
        self._sender = Sender(self.collector, stream, worker, settings.stream_limit)
        writing = writing_of(database, Chain(settings.chain_key))
        self._writer = Writer(
            stream, writing, worker, self.collector.counts, sent=self._sender.sent, claim_after=claim_after
        )
        self._recovery = Recovery(database, stream, writing, after=recover_after)
        self._upkeep = upkeep_of(database, settings, hold_days)

    def name_worker(self, worker: str) -> None:
        """Name the worker anew, before ``start``."""
        self._worker = self._sender.worker = self._writer.worker = worker

    async def start(self) -> None:
        work = (self._sender.run(), self._write(), self._upkeep.begin(), self._recover())
        self._tasks = [asyncio.create_task(coroutine) for coroutine in work]

    async def finish(self) -> None:
        """Add entries for the counters, send and write the remaining entries, log the counts, and disconnect.

        Entries that can't be written in time wait in the stream for the next start. If the session store is
        unavailable, the entries of this worker are written to the database directly.
        """
        self.finished = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.refused_reads.finish()
        sent = await self._sender.send_all()
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await (self._writer.drain() if sent else self._write_directly())
        with suppress(Unavailable):
            await self._stream.leave(self._worker)
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._upkeep.report_heads()
        level = "error" if self.collector.waiting else "info"
        getattr(_log, level)("the logs are closed", **self.collector.tally())
        await self._database.close()

    async def totals(self) -> LogCounts:
        """Return the counts over all workers; raises Unavailable."""
        return await self._stream.counts()

    async def health(self) -> Health:
        """Return ``degraded`` while this worker can't send or write entries, with the counts.

        The counts are those of all workers, or this worker's own when the session store can't be asked.
        """
        counts: dict[str, Any]
        try:
            async with asyncio.timeout(_TELL_WITHIN):
                counts = asdict(await self.totals())
        except (Unavailable, TimeoutError):
            counts = {**self.collector.tally(), "alone": True}
        waits = self._sender.held_up or self._writer.held_up
        return Health("degraded" if waits else "up", counts)

    async def _write(self) -> None:
        await self._upkeep.tried.wait()
        await self._writer.run()

    async def _recover(self) -> None:
        await self._upkeep.tried.wait()
        await self._recovery.run()

    async def _write_directly(self) -> None:
        while bundle := self.collector.bundle():
            done = await self._writer.write([Batch("", bundle.content)])
            self._writer.count(done)
            self.collector.handed_on()


async def enter(settings: Settings, event: OperationEvent) -> None:
    """Write ``event`` to the operation log: through the session store, else directly."""
    async with (
        SessionStore(settings.redis, settings.auth) as store,
        passing_journal(settings, store, "command") as journal,
    ):
        journal.collector.operation(event)


@asynccontextmanager
async def passing_journal(settings: Settings, store: SessionStore, worker: str) -> AsyncIterator[Journal]:
    """Yield the journal of a command or job, which ``worker`` names, and then write its entries."""
    async with Database(settings.database.url, pool_size=1, timeout=settings.database.timeout) as database:
        journal = Journal(settings.oplog, database, store.log, f"{worker}:{secrets.token_hex(8)}")
        try:
            yield journal
        finally:
            if journal.collector.waiting:
                await journal.finish()


async def enter_changes(
    settings: Settings,
    changes: Sequence[FieldChange],
    *,
    module: str,
    action: str,
    url: str,
    begun: float,
    targets: Iterable[str] = (),
) -> None:
    """Write the entry for the result of a job; ``begun`` is a time of ``perf_counter``, in seconds.

    It is about ``targets``, and then about those of the changes.
    """
    event = OperationEvent(
        module=module,
        action=action,
        kind="UPDATE",
        method="JOB",
        url=url,
        status=200,
        elapsed_ms=round((perf_counter() - begun) * 1000, 3),
        user_name=OPERATOR,
        targets=tuple(dict.fromkeys([*targets, *(change.target for change in changes)])),
        changes=kept_changes(changes) if changes else None,
        change_count=len(changes) or None,
    )
    await enter(settings, event)
