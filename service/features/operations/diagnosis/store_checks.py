"""Checks of the database, the session store and their replicas: reachable, new enough, in time, durable."""

from typing import Final

from service import __version__
from service.audit.journal import LOG_CONNECTIONS
from service.errors import Unavailable
from service.features.operations.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.kernel.text import printable
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
        raise Unanswered(sentence("no_embedded_server"))
    if installation.server is None:
        return _refused(installation.server_fault, sentence("database_address"))
    version = f"PostgreSQL {installation.server.version // 10_000}.{installation.server.version % 10_000}"
    if installation.server.version < LEAST_SERVER:
        least = f"PostgreSQL {LEAST_SERVER // 10_000}"
        return fault(sentence("server_version", version=version), sentence("later_needed", version=least))
    if installation.server.read_only:
        return fault(
            sentence("server_read_only", version=version), sentence("set_primary", setting="database.url")
        )
    return ok(sentence("server_version", version=version))


def _refused(reason: str, url: Sentence) -> Finding:
    """Return the finding of an unusable server, with the given reason."""
    if not reason:
        return fault(sentence("server_silent"), sentence("start_server", address=url))
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
        + settings.events.connections
        + _LISTENING
    )


def connections(installation: Installation) -> Finding:
    """A worker that gets no connection answers 503."""
    server, settings = installation.server, installation.settings
    if server is None:
        raise Unanswered(sentence("database_silent"))
    if settings.database.direct_url:
        return ok(sentence("pooler_between"))
    each = connections_of(settings)
    node = settings.server.workers * each
    room = server.connections // node
    counted = {"count": node, "most": server.connections, "each": each}
    if room == 0:
        return fault(sentence("connections_needed", **counted), sentence("more_connections"))
    return ok(sentence("connections_enough", **counted, nodes=room))


def schema(installation: Installation) -> Finding:
    """This version can't read the tables before a start has migrated them."""
    server = installation.server
    if server is None:
        raise Unanswered(sentence("database_silent"))
    standing = server.schema
    if standing.is_usable and standing.is_newer:
        return ok(sentence("schema_newer", schema=standing.stored, version=standing.migrated_by))
    if standing.is_usable:
        return ok(sentence("schema_up_to_date", schema=standing.stored))
    if standing.stored is None:
        return fault(sentence("no_schema"), sentence("run_command", command="portcullis serve"))
    if standing.is_newer and standing.least_version is not None:
        return fault(
            sentence(
                "schema_needs_later",
                schema=standing.stored,
                least=standing.least_version,
                version=__version__,
            ),
            sentence("run_later", version=standing.least_version),
        )
    return fault(
        sentence("schema_older", schema=standing.stored, expected=standing.expected),
        sentence("run_migration"),
    )


def session_store(installation: Installation) -> Finding:
    """No guarded request passes without it."""
    if not installation.settings.redis.url:
        raise Unanswered(sentence("no_embedded_server"))
    if installation.store is None:
        return _refused(installation.store_fault, sentence("session_store_address"))
    store = installation.store
    if store.version is None:
        return unknown(sentence("version_unreadable"))
    if store.version < _LEAST_STORE:
        return fault(
            sentence("server_version", version=store.product),
            sentence("later_needed", version="Valkey or Redis 7"),
        )
    redis = installation.settings.redis
    fine = (
        sentence("store_of_shards", product=store.product, shards=store.shards)
        if store.shards > 1
        else sentence("server_version", version=store.product)
    )
    return _unfit(store, redis.url, redis.wait_replicas) or _elsewhere(store) or ok(fine)


def _elsewhere(store: StoreFacts) -> Finding | None:
    """Return the note that this numbered database is empty while others of the server are not."""
    filled = store.keys_by_number or {}
    if not filled or store.number in filled:
        return None
    others = [
        sentence("keys_of_number", number=number, count=count) for number, count in sorted(filled.items())
    ]
    return warning(
        sentence("store_empty", product=store.product, number=store.number, others=others),
        sentence("choose_number"),
    )


def _unfit(store: StoreFacts, url: str, needed: int) -> Finding | None:
    """Return the fault of the server's role, cluster or replicas; ``needed`` replicas must confirm."""
    if store.mode == "cluster" and not url.startswith(("redis+cluster:", "rediss+cluster:")):
        return fault(sentence("store_is_cluster", product=store.product), sentence("name_cluster"))
    if store.role not in ("master", "primary", None):
        return fault(
            sentence("store_is_replica", product=store.product), sentence("set_primary", setting="redis.url")
        )
    if store.replicas is not None and store.replicas < needed:
        message = sentence("replicas_lacking", product=store.product, count=store.replicas, needed=needed)
        return fault(message, sentence("attach_replicas"))
    return (_unfit_cluster(store, needed) if store.shards > 1 else None) or _unguarded(store, needed)


def _unguarded(store: StoreFacts, needed: int) -> Finding | None:
    if needed == 0 or store.needs_replicas is not False:
        return None
    return warning(
        sentence("replicas_unguarded", product=store.product, needed=needed),
        sentence("guard_replicas", needed=needed),
    )


def _unfit_cluster(store: StoreFacts, needed: int) -> Finding | None:
    if store.covered < 1:
        message = sentence("slots_uncovered", product=store.product, share=f"{store.covered:.1%}")
        return fault(message, sentence("find_failed"))
    if store.needs_all:
        return warning(sentence("shards_all_needed", product=store.product), sentence("allow_partial"))
    if 0 < needed < store.most_replicas:
        message = sentence(
            "replicas_unconfirmed", product=store.product, count=store.most_replicas, needed=needed
        )
        return warning(message, sentence("confirm_all"))
    return None


def eviction(installation: Installation) -> Finding:
    """An evicted deny marker lets a banned user in."""
    store = installation.sessions
    if store.policy is None:
        return unknown(sentence("eviction_unreadable"))
    if store.policy == "noeviction":
        return ok(sentence("no_eviction"))
    remedy = sentence("turn_eviction_off")
    if store.memory:
        return fault(sentence("keys_evicted", policy=store.policy), remedy)
    return warning(sentence("keys_evicted_later", policy=store.policy), remedy)


def persistence(installation: Installation) -> Finding:
    """Without persistence a restart loses sessions, and markers that stop tokens."""
    store = installation.sessions
    if store.appends:
        return ok(sentence("writes_persisted"))
    if store.appends is None or (store.snapshots is None and not store.appends):
        return unknown(sentence("persistence_unreadable"))
    remedy = sentence("persist_writes")
    if store.snapshots:
        return warning(sentence("snapshots_only"), remedy)
    return warning(sentence("no_persistence"), remedy)


def clocks(installation: Installation) -> Finding:
    """Tokens are judged by the session store's time; it is not trusted if it is far behind a machine's."""
    leeway = installation.settings.auth.jwt_leeway
    store = installation.sessions.ahead
    message = (
        sentence("clock_of_store", store=f"{store:+.1f}")
        if installation.server is None
        else sentence("clocks_compared", store=f"{store:+.1f}", database=f"{installation.server.ahead:+.1f}")
    )
    remedy = sentence("synchronise_clocks")
    if abs(store) > MOST_BEHIND:
        return fault(sentence("clock_wrong", offsets=message), remedy)
    if was_ahead := installation.sessions.was_ahead:
        message = sentence("clock_was_ahead", offsets=message, seconds=round(was_ahead))
        return warning(message, sentence("harmless_but", remedy=remedy))
    if abs(store) > leeway:
        return warning(sentence("clock_beyond_leeway", offsets=message, leeway=leeway), remedy)
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
            sentence("standby_missing"),
            sentence("start_or_set_standby"),
        )
    late = [
        standby.name
        for standby in state.standbys
        if (standby.behind or 0) > _BEHIND or (standby.lag or 0.0) > _LATE
    ]
    if late:
        return warning(
            sentence(
                "standbys_lag",
                names=[printable(name) for name in late],
                seconds=round(_LATE),
                size=_BEHIND // _MIB,
            ),
            sentence("check_standby"),
        )
    servers = len(list(tcp_addresses(url)))
    if servers > 1 and not state.standbys:
        return warning(
            sentence("standby_unconnected", count=servers),
            sentence("start_standby"),
        )
    return ok(_standby_counts(state))


def _standby_counts(state: Replication) -> Sentence:
    if not state.standbys:
        return sentence("no_standby")
    synchronous = sum(bool(standby.synchronous) for standby in state.standbys)
    return sentence("standbys_counted", count=len(state.standbys), synchronous=synchronous)


async def read_replica(installation: Installation) -> Finding:
    """Without it, the logs are read from the primary."""
    database = installation.settings.database
    if not database.replica_url:
        return ok(sentence("no_read_replica"))
    opened = Database(database.replica_url, pool_size=1, timeout=database.timeout, writes=False)
    try:
        async with opened, opened.snapshot() as connection:
            standby = await is_standby(connection)
    except Unavailable:
        return warning(sentence("read_replica_silent"), sentence("start_read_replica"))
    if not standby:
        return warning(sentence("read_replica_accepts_writes"), sentence("set_read_replica"))
    return ok(sentence("read_replica_responds"))


def store_replicas(installation: Installation) -> Finding:
    """A failover to a lagging replica restores sessions that have ended."""
    store = installation.sessions
    needed = installation.settings.redis.wait_replicas
    if not store.replica_lags:
        return ok(sentence("replicas_unknown") if needed else sentence("no_replica"))
    late = sum(lag is None or lag > _SILENT for lag in store.replica_lags)
    message = sentence("replicas_counted", count=len(store.replica_lags), late=late, seconds=_SILENT)
    return warning(message, sentence("check_replica")) if late else ok(message)
