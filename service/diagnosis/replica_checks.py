"""Checks of the standbys of the database and the replicas of the session store."""

from __future__ import annotations

from typing import Final

from service.diagnosis.findings import Finding, fault, ok, warning
from service.diagnosis.installation import Installation
from service.errors import Unavailable
from service.kernel.text import counted, printable
from service.records.database.server_facts import Replication, is_standby, replication
from service.records.database.servers import tcp_addresses
from service.records.database.transactions import Database

_MIB: Final = 1_048_576
_BEHIND: Final = 64 * _MIB
_LATE: Final = 60.0  # seconds
_SILENT: Final = 10  # seconds


async def standbys(installation: Installation) -> Finding:
    """A failover loses what the standby has not got, and commits wait for one that is not there."""
    async with installation.records() as connection:
        state = await replication(connection)
    return judged(state, installation.settings.database.url)


def judged(state: Replication, url: str) -> Finding:
    """Return what is to be said of the standbys of the database at ``url``."""
    if state.waits and all(standby.synchronous is False for standby in state.standbys):
        return fault(
            "synchronous_standby_names asks for a standby, and none is synchronous: every write waits",
            "start the standby, or name one that runs",
        )
    late = [
        standby.name
        for standby in state.standbys
        if (standby.behind or 0) > _BEHIND or (standby.lag or 0.0) > _LATE
    ]
    if late:
        return warning(
            f"{', '.join(map(printable, late))} lags by more than {_LATE:g} s or {_BEHIND // _MIB} MiB",
            "see the standby's log, and the network in between",
        )
    servers = len(list(tcp_addresses(url)))
    if servers > 1 and not state.standbys:
        return warning(
            f"database.url names {servers} servers, and no standby follows the primary",
            "start the standby, and see its log",
        )
    return ok(_told(state))


def _told(state: Replication) -> str:
    if not state.standbys:
        return "none is connected"
    synchronous = sum(bool(standby.synchronous) for standby in state.standbys)
    return f"{counted(len(state.standbys), 'standby')}, {synchronous} synchronous"


async def read_replica(installation: Installation) -> Finding:
    """Without it, the logs are read from the primary."""
    database = installation.settings.database
    if not database.replica_url:
        return ok("database.replica_url is not set")
    opened = Database(database.replica_url, pool_size=1, timeout=database.timeout, writes=False)
    try:
        async with opened.snapshot() as connection:
            standby = await is_standby(connection)
    except Unavailable:
        return warning("it does not answer", "start it, or correct database.replica_url")
    finally:
        await opened.close()
    if not standby:
        return warning("it is no standby but a server that writes", "name a standby in database.replica_url")
    return ok("a standby that answers")


def store_replicas(installation: Installation) -> Finding:
    """A failover to a replica that lags brings back sessions that have ended."""
    store = installation.sessions
    needed = installation.settings.redis.wait_replicas
    if not store.replica_lags:
        return ok("none is attached" if not needed else "not told: see session-store")
    late = sum(lag is None or lag > _SILENT for lag in store.replica_lags)
    message = f"{counted(len(store.replica_lags), 'replica')}, {late} out of touch for {_SILENT} s"
    return warning(message, "see the replica's log, and the network in between") if late else ok(message)
