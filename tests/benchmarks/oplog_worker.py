"""A script: a worker that logs as many operations as the logs take, until it is killed."""

import asyncio
import secrets
import sys

import uvloop

from service.audit.journal import WITHIN, Journal
from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.records.logs.events import OperationEvent
from service.settings import Auth, Oplog, Redis

AHEAD = 10_000
"""Entries of all workers that may be under way: enough that no writer ever waits for them."""


async def log(database_url: str, redis_url: str) -> None:
    """Log without a pause, but for that."""
    store = SessionStore(Redis(url=redis_url), Auth())
    database = Database(database_url, pool_size=2, timeout=WITHIN)
    journal = Journal(Oplog(), database, store.log, secrets.token_hex(4))
    await journal.start()
    number = 0
    while True:
        if (await journal.totals()).under_way > AHEAD:
            await asyncio.sleep(0.02)
            continue
        for _ in range(1000):
            journal.collector.operation(_operation(number))
            number += 1
        await asyncio.sleep(0.05)


def _operation(number: int) -> OperationEvent:
    return OperationEvent(
        module="user",
        action="set the status",
        kind="UPDATE",
        method="PUT",
        url=f"/api/user/{number % 1000}/status",
        status=200 if number % 20 else 403,
        elapsed_ms=1.875,
        client_ip=f"192.0.2.{number % 250}",
        user_agent="Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
        params={"path": {"id": number % 1000}, "body": {"status": "disabled"}},
        response={"data": None},
        decision="allow" if number % 20 else "deny",
        decision_id=f"{number:016x}",
        policy_revision=12,
        request_id=f"{number:032x}",
        user_id=number % 100,
        user_name=f"user {number % 100}",
        device="web",
    )


if __name__ == "__main__":
    uvloop.run(log(*sys.argv[1:]))
