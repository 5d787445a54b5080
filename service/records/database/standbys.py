"""The standbys of the database, as its primary sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

# Other accounts than pg_monitor see a row of each standby, with nulls (PostgreSQL manual §27.2.4).
_STANDBYS: Final = text(
    "SELECT coalesce(application_name, 'a standby'), state, sync_state, "
    "extract(epoch FROM replay_lag)::float8, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint "
    "FROM pg_stat_replication WHERE NOT pg_is_in_recovery() ORDER BY 1"
)
_WANTED: Final = text("SELECT current_setting('synchronous_standby_names')")


@dataclass(frozen=True, slots=True)
class Standby:
    """One standby; None for what this account may not see.

    ``lag`` is in seconds, and None too while there is nothing to replay; ``behind`` is in bytes.
    ``synchronous``: commits wait for it, or for some of several such.
    """

    name: str
    state: str | None
    synchronous: bool | None
    lag: float | None
    behind: int | None


@dataclass(frozen=True, slots=True)
class Replication:
    """The standbys, and whether commits wait for any (``synchronous_standby_names``)."""

    waits: bool
    standbys: tuple[Standby, ...]


async def replication(connection: AsyncConnection) -> Replication:
    """Ask the primary for its standbys."""
    names: str = (await connection.execute(_WANTED)).scalar_one()
    rows = (await connection.execute(_STANDBYS)).all()
    return Replication(
        bool(names.strip()),
        tuple(
            Standby(name, state, None if sync is None else sync in ("sync", "quorum"), lag, behind)
            for name, state, sync, lag, behind in rows
        ),
    )
