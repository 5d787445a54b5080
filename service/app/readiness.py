"""Parts covered by the readiness check, the vital parts, and further dependencies of a worker."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from service import __version__
from service.audit.journal import Journal
from service.authz.engine.rules import LAYERS
from service.authz.publishing.watch import PolicyWatch
from service.files.object_store import FilesCheck, ObjectStore
from service.jobs.job import Schedule
from service.kernel.clock import rfc3339
from service.kernel.feature import provided
from service.kernel.metrics import Health, Sample, counted
from service.keyspace import ClockWatch, SessionStore
from service.records.database.server_facts import database_health
from service.records.database.transactions import Database
from service.records.published.policy_workers import KNOWN, NodeFacts
from service.settings import Settings
from service.web.observability.readiness import Check, ForwardingWatch, ReadinessChecks


class EnvironmentWatch(Protocol):
    """Checks by a feature of parts beside the stores, such as disks."""

    @property
    def checks(self) -> Mapping[str, Check]:
        """The checks for readiness, by the name of the part."""

    def samples(self) -> Iterator[Sample]:
        """Yield the metrics of the last checks."""


class EnvironmentChecks:
    """Watches them for one worker, by its settings."""

    def __init__(self, settings: Settings) -> None:
        self._watches: list[EnvironmentWatch] = [made(settings) for made in provided("environment").values()]
        self.forwarding = ForwardingWatch(settings.server.trusted_proxies)
        checks: dict[str, Check] = {}
        for watch in self._watches:
            checks |= watch.checks
        self.checks: Mapping[str, Check] = checks | {"proxy": self.forwarding.health}

    def samples(self) -> Iterator[Sample]:
        """Yield the metrics of the last checks."""
        for watch in self._watches:
            yield from watch.samples()
        yield from counted("portcullis_misforwarded_requests_total", "kind", self.forwarding.counts)


VITAL: Final = ("database", "sessions", "policy", "clock")
"""Parts without any of which no user can log in, be authorized or change records."""
SLOWLY: Final = {"files": 60.0}
"""Seconds after which a worker checks a part by itself: each look into a bucket costs money."""


def readiness(
    *,
    database: Database,
    store: SessionStore,
    watch: PolicyWatch,
    clock_watch: ClockWatch,
    objects: ObjectStore,
    journal: Journal,
    scheduler: Schedule,
    environment_checks: EnvironmentChecks,
) -> ReadinessChecks:
    """Return the readiness checks of the worker that ``watch`` belongs to."""

    async def reachable() -> Health:
        return await database_health(database, watch.worker)

    async def clock() -> Health:
        return clock_watch.health()

    async def policy() -> Health:
        return watch.health()

    checks: Mapping[str, Check] = {
        "database": reachable,
        "sessions": store.probe.health,
        "policy": policy,
        "clock": clock,
        "files": FilesCheck(objects, objects.directory).health,
        "logs": journal.health,
        "jobs": scheduler.health,
        **environment_checks.checks,
    }
    return ReadinessChecks(checks, VITAL)


def node_facts(
    settings: Mapping[str, str],
    troubles: Callable[[], Mapping[str, Mapping[str, Any]]],
    seal_keys: Sequence[str] = (),
) -> NodeFacts:
    """Return a worker's report about its node: digests of settings, parts that are not up, ids of keys."""
    return NodeFacts(
        version=__version__,
        settings=settings,
        parts=troubles(),
        seal_keys=seal_keys,
        layers=LAYERS,
        knows=KNOWN,
    )


async def facts(watch: PolicyWatch) -> dict[str, Any]:
    """Return the version, the name of this worker, and the policies of all workers of all nodes."""
    workers = [
        {
            "worker": policy_worker.worker,
            "revision": policy_worker.revision,
            "fault": policy_worker.fault,
            "seen": rfc3339(policy_worker.seen_time),
        }
        for policy_worker in await watch.workers()
    ]
    return {"version": __version__, "worker": watch.worker, "workers": workers}
