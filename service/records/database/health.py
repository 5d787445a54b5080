"""Checks that the database can be read and written, for the readiness check."""

from __future__ import annotations

from sqlalchemy import text, update

from service.kernel.metrics import Health
from service.records.database.transactions import Database
from service.records.schema import metadata, policy_worker

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
