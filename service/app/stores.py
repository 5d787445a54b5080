"""The stores that a worker uses: the database, the session store, and the objects of files."""

from dataclasses import dataclass

from service.audit.intents import save_intent
from service.audit.journal import LOG_CONNECTIONS, WITHIN
from service.files.object_store import ObjectStore, object_store
from service.keyspace import ClockWatch, SessionStore
from service.records.database.replica import FreshSnapshots
from service.records.database.transactions import BeforeCommit, Database
from service.settings import Database as DatabaseSettings
from service.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Connections of the worker to its stores.

    ``log_database`` has connections of its own, so busy requests do not delay entries of the logs.
    ``log_snapshots`` may be of a standby.
    """

    database: Database
    log_database: Database
    log_snapshots: FreshSnapshots
    sessions: SessionStore
    clock_watch: ClockWatch
    objects: ObjectStore


def make(settings: Settings) -> Stores:
    """Return the stores that ``settings`` name."""
    auth = settings.auth
    database = pool(
        settings.database,
        settings.database.pool_size,
        settings.database.timeout,
        traced=bool(settings.tracing.endpoint),
        before_commit=save_intent,
    )
    sessions = SessionStore(settings.redis, auth)
    snapshots = FreshSnapshots(
        database, _replica(settings.database, max(1, settings.database.pool_size // 2))
    )
    return Stores(
        database=database,
        log_database=pool(settings.database, LOG_CONNECTIONS, WITHIN),
        log_snapshots=snapshots,
        sessions=sessions,
        clock_watch=ClockWatch(sessions, leeway=auth.jwt_leeway, access_timeout=auth.access_timeout),
        objects=object_store(settings.objstore, settings.server.data / "files"),
    )


def pool(
    settings: DatabaseSettings,
    size: int,
    timeout: float,
    *,
    traced: bool = False,
    before_commit: BeforeCommit | None = None,
) -> Database:
    """Return a database with ``size`` connections of its own; ``timeout`` in seconds."""
    return Database(
        settings.url,
        pool_size=size,
        timeout=timeout,
        pooled=bool(settings.direct_url),
        traced=traced,
        before_commit=before_commit,
    )


def _replica(settings: DatabaseSettings, pool_size: int) -> Database | None:
    if not settings.replica_url:
        return None
    return Database(settings.replica_url, pool_size=pool_size, timeout=settings.timeout, writes=False)
