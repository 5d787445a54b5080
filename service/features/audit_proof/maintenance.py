"""Maintenance of the log tables: create coming months, drop old ones, report chain heads."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Final, TypeAlias

import structlog

from service.audit.key_chain import Chain
from service.errors import Unavailable
from service.features.audit_proof import store_chain as log_chain
from service.features.audit_proof import store_months as log_months
from service.features.audit_proof.appending import sealed
from service.features.audit_proof.store_chain import Head
from service.kernel.feature import provided
from service.kernel.restore_epoch import FIRST
from service.records.database.transactions import Connection, Database
from service.records.installation import restore_epochs
from service.records.logs.inserts import Log
from service.settings import Oplog

HEAD_EVENT: Final = "head of a log"
"""The event of a line on standard output that reports a head."""
RETRY_EVERY: Final = 10.0
"""Seconds after which the first round is tried again if it failed."""
AHEAD: Final = 2
"""Months after the current one for which partitions are created in advance."""
WITHIN: Final = 60.0
"""Seconds that a step may take; requests do not wait for it."""

Lagging: TypeAlias = Callable[[Connection, Log, date], Awaitable[list[str]]]
"""Returns the names of what lacks entries of a log of a month, the first day of which is given."""

_log = structlog.get_logger(__name__)


class Upkeep:
    """Maintains the tables; each step is done by the first to get its lock.

    ``days`` is the retention of each log in days; 0 keeps entries for ever. A month that a destination of the
    export has not got completely is kept up to ``hold_days`` longer.
    """

    def __init__(self, database: Database, chain: Chain, days: dict[Log, int], *, hold_days: int = 0) -> None:
        self._database = database
        self._chain = chain
        self._days = days
        self._held = timedelta(days=hold_days)
        self.tried = asyncio.Event()
        """Set once the partitions of today were looked for; before, they may be missing."""

    async def begin(self) -> None:
        """See that the coming partitions exist, and report heads, before the first entry is written.

        Tries until it succeeds, or is cancelled; from then on the scheduler does it. While another process
        maintains the tables, it tries again: that process may be killed in the middle of a move.
        """
        while True:
            done = await self._round()
            self.tried.set()
            if done:
                return
            await asyncio.sleep(RETRY_EVERY)

    async def _round(self) -> bool:
        try:
            done = await self.today()
            await self.report_heads()
        except Unavailable:
            return False
        except Exception:  # noqa: BLE001 - an unexpected error must not stop the next round
            _log.exception("the upkeep of the logs failed")
            return False
        return done

    async def today(self) -> bool:
        """Create the coming partitions, and drop those past retention. Raises Unavailable.

        Returns False if another process is doing it. A month must be old by the database's clock too: a clock
        that is ahead drops no month that is kept.
        """
        async with self._database.transaction() as connection:
            past = await log_months.today(connection)
        return await self.months(datetime.now(UTC).date(), past)

    async def months(self, today: date, past: date | None = None) -> bool:
        """Create the partitions from ``today`` on, and drop those past retention on the day ``past``.

        ``past`` is ``today`` unless given. Returns False if another process is doing it. Raises Unavailable.
        """
        for log in self._days:
            if not await self._move(log):
                return False
        async with self._database.transaction(within=WITHIN) as connection:
            if not await log_months.alone(connection):
                return False
            for log in self._days:
                await log_months.make(connection, log, _from(today, AHEAD))
        for log, days in self._days.items():
            if days and not await self._drop(log, (past or today) - timedelta(days=days)):
                return False
        return True

    async def _move(self, log: Log) -> bool:
        """Move rows of the default partition to their monthly partitions; False if another process does."""
        copied = log_months.PORTION
        while copied == log_months.PORTION:
            async with self._database.transaction(within=WITHIN) as connection:
                if not await log_months.alone(connection):
                    return False
                copied = await log_months.stage(connection, log, log_months.PORTION)
        async with self._database.transaction(within=WITHIN) as connection:
            if not await log_months.alone(connection):
                return False
            await log_months.attach(connection, log)
        return True

    async def report_heads(self) -> None:
        """Log the heads that have grown on standard output, where they can be kept elsewhere.

        Raises Unavailable.
        """
        async with self._database.transaction() as connection:
            grown = await log_chain.unanchored(connection)
            restore_epoch = await restore_epochs.current(connection) if grown else None
        for head in grown:
            _log.info(HEAD_EVENT, **head_facts(head, restore_epoch or FIRST))

    async def _drop(self, log: Log, before: date) -> bool:
        """Drop the months before a day; False if another process maintains the tables."""
        async with self._database.transaction(within=WITHIN) as connection:
            if not await log_months.alone(connection):
                return False
            too_old = await log_months.ended(connection, log, before - self._held)
            for month in await log_months.ended(connection, log, before):
                lagging = await _lagging(connection, log, month)
                if lagging and month not in too_old:
                    _log.warning("a month of a log is held for its export", **_lag_facts(log, month, lagging))
                    continue
                if lagging:
                    _log.error("a month was dropped before its export", **_lag_facts(log, month, lagging))
                gone = await log_months.drop(connection, log, month)
                marked = [sealed(self._chain, head) for head in gone]
                if marked:
                    await log_chain.save(connection, marked)
                _log.info("a month of a log was dropped", log=log, month=f"{month:%Y-%m}")
        return True


def upkeep_of(database: Database, settings: Oplog, hold_days: int) -> Upkeep:
    """Return the maintenance of the logs by ``settings``."""
    return Upkeep(database, Chain(settings.chain_key), retention(settings), hold_days=hold_days)


async def _lagging(connection: Connection, log: Log, month: date) -> list[str]:
    """Return the names of what lacks entries of ``month``; what a feature that is off has stored counts."""
    lists: Iterable[Lagging] = provided("log-holders").values()
    return [name for lagging in lists for name in await lagging(connection, log, month)]


def retention(settings: Oplog) -> dict[Log, int]:
    """Return the retention of each log in days; 0 for ever."""
    return {"operation_log": settings.operation_days, "login_log": settings.login_days}


def head_facts(head: Head, restore_epoch: str) -> dict[str, str | int]:
    """Return the members of a head of ``restore_epoch``; ``portcullis audit verify --heads`` reads them."""
    return {
        "timeline": restore_epoch,
        "log": head.log,
        "day": str(head.day),
        "key_id": head.key_id,
        "number": head.number,
        "hash": head.hash.hex(),
    }


def _lag_facts(log: Log, month: date, lagging: list[str]) -> dict[str, str]:
    return {"log": log, "month": f"{month:%Y-%m}", "destinations": ", ".join(lagging)}


def _from(today: date, ahead: int) -> list[date]:
    """Return the first days of the month of ``today`` and of the ``ahead`` months after it."""
    months = [today.replace(day=1)]
    for _ in range(ahead):
        months.append((months[-1] + timedelta(days=31)).replace(day=1))
    return months
