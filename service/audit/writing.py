"""Writing of entries and maintenance of the logs, as the journal needs them; a feature chains the entries."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from service.audit.key_chain import Chain
from service.kernel.feature import sole
from service.keyspace import KeptHead
from service.records.database.transactions import Database
from service.records.logs.inserts import Log
from service.settings import Oplog


class Writing(Protocol):
    """Writes each entry once, even if called again."""

    async def write(self, log: Log, lines: Sequence[bytes]) -> set[int]:
        """Write the encoded entries ``lines``; return the indexes of those that were set aside.

        Raises Unavailable; some of the entries may already have been written.
        """

    def grown(self) -> list[KeptHead]:
        """Return the heads of the chains that have grown since this was last asked."""


class Upkeep(Protocol):
    """Maintains the tables of the logs."""

    tried: asyncio.Event
    """Set once the partitions of today were looked for; before, they may be missing."""

    async def begin(self) -> None:
        """See that the coming partitions exist, and report heads; tries until it succeeds."""

    async def today(self) -> bool:
        """Create the coming partitions, and drop those past retention; False if another process does."""

    async def report_heads(self) -> None:
        """Log the heads that have grown on standard output. Raises Unavailable."""


def writing_of(database: Database, chain: Chain) -> Writing:
    """Return the writer of chained entries; the time limit of ``database`` is that of each batch."""
    writing: Writing = sole("log-writing")(database, chain)
    return writing


def upkeep_of(database: Database, settings: Oplog, hold_days: int) -> Upkeep:
    """Return the maintenance of the logs; months that an export lacks stay up to ``hold_days`` longer."""
    upkeep: Upkeep = sole("log-upkeep")(database, settings, hold_days)
    return upkeep
