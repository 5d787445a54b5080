"""Facts about the database server, and whether its schema is this version's."""

import time
from typing import Final

from msgspec import Struct
from sqlalchemy import text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.metrics import Health
from service.records.database.transactions import Database
from service.records.installation.schema_revision import SchemaStanding, schema_standing
from service.records.schema.all_tables import metadata
from service.records.schema.policy import policy_worker

_FACTS = text(
    "SELECT current_setting('server_version_num')::int, extract(epoch FROM clock_timestamp())::float8, "
    "pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean, "
    "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int "
    "- coalesce(current_setting('reserved_connections', true), '0')::int"  # unknown before PostgreSQL 16
)


class ServerFacts(Struct, frozen=True):
    """``version`` is PostgreSQL's number (180001), ``ahead`` the seconds that its clock is ahead of ours.

    ``schema`` is how its schema stands to this program's. ``read_only``: it is a standby, or refuses writes.
    ``connections`` are those that ordinary accounts may open together.
    """

    version: int
    ahead: float
    schema: SchemaStanding
    read_only: bool = False
    connections: int = 97


async def server_facts(connection: AsyncConnection) -> ServerFacts:
    """Ask the server; changes nothing, and works in an empty database."""
    before = time.time()
    version, clock, read_only, connections = (await connection.execute(_FACTS)).one()
    ahead = clock - (before + time.time()) / 2
    standing = await connection.run_sync(schema_standing)
    return ServerFacts(version, ahead, standing, read_only, connections)


async def is_standby(connection: AsyncConnection) -> bool:
    """Return whether the server replays what another one writes."""
    return bool((await connection.execute(text("SELECT pg_is_in_recovery()"))).scalar_one())


_TABLES = sorted(metadata.tables)
_STATE = text(
    "SELECT current_setting('server_version'), pg_is_in_recovery(), "
    "current_setting('transaction_read_only')::boolean, "
    "ARRAY(SELECT name FROM unnest(CAST(:tables AS text[])) AS name WHERE to_regclass(name) IS NULL)"
)


async def database_health(database: Database, worker: str) -> Health:
    """Check the tables and update the row of ``worker`` in ``sys.policy_worker``, in one transaction.

    ``read_only``: the server is a standby, or refuses writes. ``down``: tables or their rows are missing.
    Raises Unavailable if there is no answer, and the server's error if the write fails.
    """
    async with database.transaction(even_if_emptied=True) as connection:
        answer = await connection.execute(_STATE, {"tables": _TABLES})
        version, standby, read_only, missing = answer.one()
        emptied = database.emptied
        details = {"version": version, "standby": standby, "missing": missing, "emptied": emptied}
        if missing or emptied:
            return Health("down", details)
        if standby or read_only:
            return Health("read_only", details)
        same = update(policy_worker).where(policy_worker.c.worker == worker)
        await connection.execute(same.values(seen_time=policy_worker.c.seen_time))
    return Health("up", details)


# Other accounts than pg_monitor see a row of each standby, with nulls (PostgreSQL manual §27.2.4).
_STANDBYS: Final = text(
    "SELECT coalesce(application_name, 'a standby'), state, sync_state, "
    "extract(epoch FROM replay_lag)::float8, pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::bigint "
    "FROM pg_stat_replication WHERE NOT pg_is_in_recovery() ORDER BY 1"
)
_WANTED: Final = text("SELECT current_setting('synchronous_standby_names')")


class Standby(Struct, frozen=True):
    """One standby; None for values that this account cannot see.

    ``lag`` is in seconds, and also None while the standby has nothing to replay; ``behind`` is in bytes.
    ``synchronous``: commits wait for it, or for some of several synchronous standbys.
    """

    name: str
    state: str | None
    synchronous: bool | None
    lag: float | None
    behind: int | None


class Replication(Struct, frozen=True):
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
