"""A worker that logs operations until SIGTERM, and names each on standard output."""

import asyncio
import os
import signal
from pathlib import Path

from service.audit.journal import WITHIN, Journal
from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.settings import Auth, Oplog, Redis
from tests.audit.conftest import operation


async def emit(name: str, database_url: str, redis_url: str) -> None:
    async with SessionStore(Redis(url=redis_url), Auth()) as store:
        database = Database(database_url, pool_size=2, timeout=WITHIN)
        journal = Journal(Oplog(), database, store.log, name, claim_after=1.0)
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        await journal.start()
        number = 0
        while not stopped.is_set():
            for _ in range(3):
                event = operation(action=f"{name} {number}")
                journal.collector.operation(event)
                # Not buffered, so that what was accepted is known however this process ends.
                os.write(1, f"{number} {event.create_time.timestamp()}\n".encode())
                number += 1
            await asyncio.sleep(0.01)
        await journal.finish()


def run(out: Path, err: Path, name: str, database_url: str, redis_url: str) -> None:
    """Run the worker in the process that was made for it, with the files ``out`` and ``err``."""
    for number, path in ((1, out), (2, err)):
        with path.open("wb") as opened:
            os.dup2(opened.fileno(), number)
    asyncio.run(emit(name, database_url, redis_url))
