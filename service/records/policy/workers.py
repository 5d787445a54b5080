"""``sys.policy_worker``: the revision that each worker uses, as reported by the worker."""

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
"""How long a silent worker's last report is kept: a little longer than it may use its permission map."""


@dataclass(frozen=True, slots=True)
class PolicyWorker:
    """A worker, the revision that it uses, and the fault that keeps it from the newest one, or None.

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
    """Record that ``worker`` uses ``revision`` and the own part with ``own_digest``.

    Deletes the rows of workers that have been silent for longer than ``KEPT``.
    """
    reported = {"revision": revision, "fault": fault, "own_digest": own_digest}
    row = upsert(policy_worker).values(worker=worker, **reported)
    renewed = reported | {"seen_time": func.now()}
    await connection.execute(row.on_conflict_do_update(index_elements=[policy_worker.c.worker], set_=renewed))
    silent = select(policy_worker.c.worker).where(policy_worker.c.seen_time < func.now() - KEPT)
    # A locked row is being renewed or removed already; waiting for it could end in a deadlock.
    unheld = silent.with_for_update(skip_locked=True)
    await connection.execute(delete(policy_worker).where(policy_worker.c.worker.in_(unheld)))


async def leave(connection: AsyncConnection, worker: str) -> None:
    """Delete the row of a worker that ends."""
    await connection.execute(delete(policy_worker).where(policy_worker.c.worker == worker))


async def present(connection: AsyncConnection) -> list[PolicyWorker]:
    """Return the workers that have reported within 15 seconds, by name."""
    lately = policy_worker.c.seen_time >= func.now() - _SILENT
    ordered = select(*_WORKER.columns).where(lately).order_by(policy_worker.c.worker)
    return await _WORKER.all(connection, ordered)
