"""What the tables of the logs need from time to time: months made ahead, old ones dropped, heads told."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Final

import structlog

from service.errors import Unavailable
from service.oplog.chain import Chain
from service.oplog.chain_walk import TOLD
from service.records.database.transactions import Database
from service.records.logs import chain as log_chain
from service.records.logs import months as log_months
from service.records.logs.chain import Head
from service.records.logs.inserts import Log

EVERY: Final = 3600.0
"""Seconds between two rounds."""
RETRY_EVERY: Final = 10.0
"""Seconds after which a round is tried again that could not be finished."""
AHEAD: Final = 2
"""Months, after the current one, that have a partition before they begin."""
WITHIN: Final = 60.0
"""Seconds that a step may take; requests are not kept waiting for it."""

_log = structlog.get_logger(__name__)


class Upkeep:
    """Keeps the tables in order. All workers do so; each step is done by the one that comes first.

    ``days`` says for each log how many days its entries are kept; 0 is for ever.
    """

    def __init__(self, database: Database, chain: Chain, days: dict[Log, int]) -> None:
        self._database = database
        self._chain = chain
        self._days = days
        self.tried = asyncio.Event()
        """Set once the first round is over, whatever came of it: entries that wait need not move."""

    async def run(self) -> None:
        """Do rounds until cancelled; raises nothing else."""
        while True:
            done = await self.round()
            self.tried.set()
            await asyncio.sleep(EVERY if done else RETRY_EVERY)

    async def round(self) -> bool:
        """Do what is due; False when it can't be done now."""
        try:
            await self.months(datetime.now(UTC).date())
            await self.tell_heads()
        except Unavailable:
            return False
        except Exception:  # noqa: BLE001 - the next round must not be lost with an error nobody foresaw
            _log.exception("the upkeep of the logs failed")
            return False
        return True

    async def months(self, today: date) -> None:
        """Make the partitions that will be needed, and drop those that are old enough. Raises Unavailable."""
        for log, days in self._days.items():
            async with self._database.transaction(within=WITHIN) as connection:
                if not await log_months.alone(connection):
                    return
                await log_months.make(connection, log, _from(today, AHEAD))
            if days:
                await self._drop(log, today - timedelta(days=days))

    async def tell_heads(self) -> None:
        """Tell the heads that have grown to the log on standard output, which others may keep elsewhere.

        Raises Unavailable.
        """
        async with self._database.transaction() as connection:
            grown = await log_chain.untold(connection)
        for head in grown:
            _log.info(TOLD, **told(head))

    async def _drop(self, log: Log, before: date) -> None:
        async with self._database.transaction(within=WITHIN) as connection:
            if not await log_months.alone(connection):
                return
            for month in await log_months.ended(connection, log, before):
                gone = await log_months.drop(connection, log, month)
                marked = [self._chain.sealed(head) for head in gone]
                if marked:
                    await log_chain.save(connection, marked)
                _log.info("a month of a log was dropped", log=log, month=f"{month:%Y-%m}")


def told(head: Head) -> dict[str, str | int]:
    """Return what is told of a head, by name; ``portcullis audit verify --heads`` reads it."""
    return {
        "log": head.log,
        "day": str(head.day),
        "key_id": head.key_id,
        "number": head.number,
        "hash": head.hash.hex(),
    }


def _from(today: date, ahead: int) -> list[date]:
    """Return the first days of the month of ``today`` and of those ahead."""
    months = [today.replace(day=1)]
    for _ in range(ahead):
        months.append((months[-1] + timedelta(days=31)).replace(day=1))
    return months
