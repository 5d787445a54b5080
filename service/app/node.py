"""Metrics and reports of a worker about itself and its installation, and the jobs that it may run."""

from dataclasses import dataclass

from service.administration.jobs import all_jobs
from service.app.audit_trail import Trail
from service.app.policy import PolicyParts
from service.app.readiness import EnvironmentChecks, readiness
from service.app.stores import Stores
from service.jobs.job import Schedule
from service.kernel.feature import sole
from service.settings import Settings
from service.web.observability.readiness import ReadinessChecks
from service.web.requests.credentials import OperatorToken


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Parts for operators: checks, readiness and jobs."""

    environment_checks: EnvironmentChecks
    readiness: ReadinessChecks
    operator_token: OperatorToken
    scheduler: Schedule


def make(
    settings: Settings,
    stores: Stores,
    policy: PolicyParts,
    trail: Trail,
    *,
    worker: str,
) -> Node:
    """Return the checks, jobs and readiness of the worker with that name."""
    scheduler: Schedule = sole("scheduler")(all_jobs(settings), stores.database, settings, worker)
    environment_checks = EnvironmentChecks(settings)
    return Node(
        environment_checks=environment_checks,
        readiness=readiness(
            database=stores.database,
            store=stores.sessions,
            watch=policy.watch,
            clock_watch=stores.clock_watch,
            objects=stores.objects,
            journal=trail.journal,
            scheduler=scheduler,
            environment_checks=environment_checks,
        ),
        operator_token=OperatorToken(settings.server.metrics_token),
        scheduler=scheduler,
    )
