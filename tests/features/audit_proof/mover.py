"""A process that moves months of the logs out of their default partitions, as a worker does at its start."""

import asyncio

from service.audit.key_chain import Chain
from service.features.audit_proof import maintenance
from service.features.audit_proof import store_months as months
from service.features.audit_proof.maintenance import Upkeep
from service.records.database.transactions import Database


async def move(database_url: str) -> None:
    async with Database(database_url, pool_size=2, timeout=20.0) as database:
        await Upkeep(database, Chain(), {"operation_log": 0, "login_log": 0}).begin()


async def wait(*_given: object) -> None:
    """Wait to be killed."""
    await asyncio.Event().wait()


def run(database_url: str, portion: int, attaches: bool) -> None:
    """Move what is there, in portions of so many rows, in the process that was made for it.

    Unless it ``attaches`` what it has copied, it waits to be killed then.
    """
    months.PORTION = portion  # type: ignore[misc]
    if not attaches:
        months.attach = wait  # type: ignore[assignment]
    maintenance.RETRY_EVERY = 0.1  # type: ignore[misc]
    asyncio.run(move(database_url))
