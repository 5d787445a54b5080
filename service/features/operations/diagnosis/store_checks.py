"""Checks of the database, the session store and their replicas: reachable, new enough, in time, durable."""

from typing import Final

from service import __version__
from service.audit.journal import LOG_CONNECTIONS
from service.errors import Unavailable
from service.kernel.text import counted, printable
from service.keyspace import MOST_BEHIND
from service.keyspace.inspection import StoreFacts
from service.operator.findings import Finding, Installation, Unanswered, fault, ok, unknown, warning
from service.records.database.server_facts import Replication, is_standby, replication
from service.records.database.servers import tcp_addresses
from service.records.database.transactions import SINGLE_READS, Database
from service.records.installation.migrate import LEAST_SERVER
from service.settings import Settings

_LEAST_STORE = (7,)
_LISTENING = 1  # connection of each worker, for announcements
_APART = 1.0  # seconds of difference that are reported


def database(installation: Installation) -> Finding:
    """Everything except the verification of tokens needs the database."""
    if not installation.settings.database.url:
        raise Unanswered("no embedded server is running")
    if installation.server is None:
        return _refused(installation.server_fault, "database.url: host, port, user, password and database")
    version = f"PostgreSQL {installation.server.version // 10_000}.{installation.server.version % 10_000}"
    if installation.server.version < LEAST_SERVER:
        return fault(version, f"PostgreSQL {LEAST_SERVER // 10_000} or later is needed")
    if installation.server.read_only:
        return fault(f"{version}, read-only: writes are impossible", "set database.url to the primary")
    return ok(version)


def _refused(reason: str, url: str) -> Finding:
    """Return the finding of an unusable server, with the given reason."""
    if not reason:
        return fault("does not answer", f"start the server, and check {url}")
    remedy = f"correct the error on the server, or in {url}"
    if "No space left on device" in reason:
        remedy = "free disk space on the server, and check its log"
    return Finding("fault", f"can't be used: {reason}", remedy, local=True)


def connections_of(settings: Settings) -> int:
    """Return the maximum number of database connections of a worker, except those of jobs."""
    return (
        settings.database.pool_size
        + SINGLE_READS
        + LOG_CONNECTIONS
        + settings.export.connections
        + _LISTENING
    )


def connections(installation: Installation) -> Finding:
    """A worker that gets no connection answers 503."""
    server, settings = installation.server, installation.settings
    if server is None:
        raise Unanswered("the database does not answer")
    if settings.database.direct_url:
        return ok("a connection pooler is in between")
    each = connections_of(settings)
    node = settings.server.workers * each
    room = server.connections // node
    message = f"a node opens up to {node} of {server.connections} connections ({each} per worker)"
    if room == 0:
        return fault(message, "raise max_connections, or lower server.workers or database.pool_size")
    return ok(f"{message}: enough for {room} {'nodes' if room > 1 else 'node'} of this size")


def schema(installation: Installation) -> Finding:
    """This version can't read the tables before a start has migrated them."""
    server = installation.server
    if server is None:
        raise Unanswered("the database does not answer")
    standing = server.schema
    if standing.is_usable and standing.is_newer:
        return ok(f"{standing.stored}, of version {standing.migrated_by}; this version can work with it")
    if standing.is_usable:
        return ok(f"{standing.stored}, up to date")
    if standing.stored is None:
        return fault("none: nothing was ever started on this database", "portcullis serve")
    if standing.is_newer and standing.least_version is not None:
        return fault(
            f"{standing.stored} needs version {standing.least_version} or later; this is {__version__}",
            f"run version {standing.least_version} or later",
        )
    return fault(
        f"{standing.stored}, but this version needs {standing.expected}",
        "run portcullis db migrate, or use the version that migrated the database",
    )


def session_store(installation: Installation) -> Finding:
    """No guarded request passes without it."""
    if not installation.settings.redis.url:
        raise Unanswered("no embedded server is running")
    if installation.store is None:
        return _refused(installation.store_fault, "redis.url: host, port, user, password and number")
    store = installation.store
    if store.version is None:
        return unknown("this account is not allowed to read the version (INFO)")
    if store.version < _LEAST_STORE:
        return fault(f"{store.product}", "Valkey or Redis 7 or later is needed")
    redis = installation.settings.redis
    shards = f", {store.shards} shards" if store.shards > 1 else ""
    return (
        _unfit(store, redis.url, redis.wait_replicas) or _elsewhere(store) or ok(f"{store.product}{shards}")
    )


def _elsewhere(store: StoreFacts) -> Finding | None:
    """Return the note that this numbered database is empty while others of the server are not."""
    filled = store.keys_by_number or {}
    if not filled or store.number in filled:
        return None
    others = ", ".join(f"{number} ({counted(count, 'key')})" for number, count in sorted(filled.items()))
    return warning(
        f"{store.product}: database number {store.number} is empty, but there are keys in {others}",
        "if the sessions are there, put that number at the end of redis.url, such as redis://host:6379/1",
    )


def _unfit(store: StoreFacts, url: str, needed: int) -> Finding | None:
    """Return the fault of the server's role, cluster or replicas; ``needed`` replicas must confirm."""
    if store.mode == "cluster" and not url.startswith(("redis+cluster:", "rediss+cluster:")):
        return fault(
            f"{store.product}, a cluster", "set redis.url to its servers: redis+cluster://host1,host2"
        )
    if store.role not in ("master", "primary", None):
        return fault(f"{store.product}, a replica: writes are impossible", "set redis.url to the primary")
    if store.replicas is not None and store.replicas < needed:
        message = (
            f"{store.product}, {store.replicas} replicas: logins and logouts fail, since they wait for "
            f"{needed}"
        )
        return fault(message, "attach replicas, or lower redis.wait_replicas")
    return (_unfit_cluster(store, needed) if store.shards > 1 else None) or _unguarded(store, needed)


def _unguarded(store: StoreFacts, needed: int) -> Finding | None:
    if needed == 0 or store.needs_replicas is not False:
        return None
    return warning(
        f"{store.product}, redis.wait_replicas is {needed}, but min-replicas-to-write is not set: without "
        "replicas, logins and logouts take effect but return 503",
        f"set min-replicas-to-write to {needed} and min-replicas-max-lag to 2 on all servers",
    )


def _unfit_cluster(store: StoreFacts, needed: int) -> Finding | None:
    if store.covered < 1:
        message = (
            f"{store.product}, only {store.covered:.1%} of the slots have a server: some users can't log in"
        )
        return fault(message, "find the failed primaries and replicas: CLUSTER NODES")
    if store.needs_all:
        message = f"{store.product}: if one shard fails, requests of all users are refused"
        return warning(message, "set cluster-require-full-coverage to no")
    if 0 < needed < store.most_replicas:
        message = (
            f"{store.product}, {store.most_replicas} replicas of a shard, of which {needed} must confirm"
        )
        remedy = (
            "an unconfirmed replica can become the primary: set redis.wait_replicas to the number of replicas"
        )
        return warning(message, remedy)
    return None


def eviction(installation: Installation) -> Finding:
    """An evicted deny marker lets a banned user in."""
    store = installation.sessions
    if store.policy is None:
        return unknown("this account is not allowed to read maxmemory-policy (INFO)")
    if store.policy == "noeviction":
        return ok("noeviction: no keys are evicted")
    message = f"maxmemory-policy is {store.policy}: deny markers and sessions can be evicted"
    remedy = "set maxmemory-policy to noeviction"
    return fault(message, remedy) if store.memory else warning(f"{message} once maxmemory is set", remedy)


def persistence(installation: Installation) -> Finding:
    """Without persistence a restart loses sessions, and markers that stop tokens."""
    store = installation.sessions
    if store.appends:
        return ok("appendonly: each write is persisted")
    if store.appends is None or (store.snapshots is None and not store.appends):
        return unknown("this account is not allowed to read the persistence settings (INFO, CONFIG GET save)")
    remedy = "set appendonly to yes"
    if store.snapshots:
        return warning("snapshots only: a crash restores ended sessions", remedy)
    return warning("no persistence: a restart lifts bans and ends all sessions", remedy)


def clocks(installation: Installation) -> Finding:
    """Tokens are judged by the session store's time; it is not trusted if it is far behind a machine's."""
    leeway = installation.settings.auth.jwt_leeway
    store = installation.sessions.ahead
    offsets = [f"session store {store:+.1f} s"]
    if installation.server is not None:
        offsets.append(f"database {installation.server.ahead:+.1f} s")
    message = f"{', '.join(offsets)} relative to this machine"
    remedy = "synchronise the clocks of all machines, for example with NTP"
    if abs(store) > MOST_BEHIND:
        return fault(f"{message}: one of the clocks is wrong", remedy)
    if was_ahead := installation.sessions.was_ahead:
        message = f"{message}; times in the session store are {was_ahead:.0f} s in the future"
        return warning(f"{message}: its clock was ahead", f"they are harmless, but {remedy}")
    if abs(store) > leeway:
        return warning(f"{message}: more than auth.jwt_leeway, {leeway} s", remedy)
    apart = max(abs(store), abs(installation.server.ahead) if installation.server else 0.0)
    return warning(message, remedy) if apart > _APART else ok(message)


_MIB: Final = 1_048_576
_BEHIND: Final = 64 * _MIB
_LATE: Final = 60.0  # seconds
_SILENT: Final = 10  # seconds


async def standbys(installation: Installation) -> Finding:
    """A failover loses data that the standby lacks; commits wait for a missing synchronous standby."""
    async with installation.records() as connection:
        state = await replication(connection)
    return judged(state, installation.settings.database.url)


def judged(state: Replication, url: str) -> Finding:
    """Return the finding about the standbys of the database at ``url``."""
    if state.waits and all(standby.synchronous is False for standby in state.standbys):
        return fault(
            "synchronous_standby_names requires a standby, but none is synchronous: all writes wait",
            "start the standby, or set a running one",
        )
    late = [
        standby.name
        for standby in state.standbys
        if (standby.behind or 0) > _BEHIND or (standby.lag or 0.0) > _LATE
    ]
    if late:
        return warning(
            f"{', '.join(map(printable, late))} lags by more than {_LATE:g} s or {_BEHIND // _MIB} MiB",
            "check the log of the standby and the network in between",
        )
    servers = len(list(tcp_addresses(url)))
    if servers > 1 and not state.standbys:
        return warning(
            f"database.url has {servers} servers, but no standby replicates the primary",
            "start the standby, and check its log",
        )
    return ok(_standby_counts(state))


def _standby_counts(state: Replication) -> str:
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
        async with opened, opened.snapshot() as connection:
            standby = await is_standby(connection)
    except Unavailable:
        return warning("it does not answer", "start the standby, or correct database.replica_url")
    if not standby:
        return warning(
            "the server is not a standby but accepts writes", "set database.replica_url to a standby"
        )
    return ok("the standby responds")


def store_replicas(installation: Installation) -> Finding:
    """A failover to a lagging replica restores sessions that have ended."""
    store = installation.sessions
    needed = installation.settings.redis.wait_replicas
    if not store.replica_lags:
        return ok("none is attached" if not needed else "unknown: see session-store")
    late = sum(lag is None or lag > _SILENT for lag in store.replica_lags)
    message = f"{counted(len(store.replica_lags), 'replica')}, {late} out of touch for {_SILENT} s"
    return (
        warning(message, "check the log of the replica and the network in between") if late else ok(message)
    )
