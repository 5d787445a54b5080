"""``sys.policy_worker``: which revision each worker decides by, as it reports itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.row_mapper import RowMapper
from service.records.schema import policy_worker

REPORT_EVERY: Final = 5.0
"""Seconds after which a worker reports again, even if nothing has changed."""

_SILENT: Final = timedelta(seconds=3 * REPORT_EVERY)
KEPT: Final = timedelta(hours=13)
"""How long a silent worker's last report is kept: nearly as long it may read tokens by what it had then."""


@dataclass(frozen=True, slots=True)
class PolicyWorker:
    """A worker, the revision that it decides by, and why that is not the newest, if it can't be.

    ``own_digest`` is the digest of its node's own part of the policy; None for a version that reports none.
    """

    worker: str
    revision: int
    fault: str | None
    seen_time: datetime
    own_digest: str | None


_WORKER: Final = RowMapper(PolicyWorker, policy_worker)


async def report(
    connection: AsyncConnection, worker: str, revision: int, fault: str | None, *, own_digest: str | None
) -> None:
    """Note that ``worker`` lives and decides by ``revision`` and the own part of ``own_digest``.

    Workers that have been silent for long are forgotten.
    """
    said = {"revision": revision, "fault": fault, "own_digest": own_digest}
    row = upsert(policy_worker).values(worker=worker, **said)
    renewed = said | {"seen_time": func.now()}
    await connection.execute(row.on_conflict_do_update(index_elements=[policy_worker.c.worker], set_=renewed))
    silent = select(policy_worker.c.worker).where(policy_worker.c.seen_time < func.now() - KEPT)
    # A row that somebody holds is being renewed or removed already; waiting could end in a deadlock.
    unheld = silent.with_for_update(skip_locked=True)
    await connection.execute(delete(policy_worker).where(policy_worker.c.worker.in_(unheld)))


async def leave(connection: AsyncConnection, worker: str) -> None:
    """Forget a worker that ends."""
    await connection.execute(delete(policy_worker).where(policy_worker.c.worker == worker))


async def present(connection: AsyncConnection) -> list[PolicyWorker]:
    """Return the workers that have reported lately, by name."""
    lately = policy_worker.c.seen_time >= func.now() - _SILENT
    ordered = select(*_WORKER.columns).where(lately).order_by(policy_worker.c.worker)
    return await _WORKER.all(connection, ordered)
