"""The audit trail of a worker: the logs, their export, and the decision log."""

from dataclasses import dataclass

from service.app.stores import Stores, pool
from service.audit.collector import Collector
from service.audit.decision_log import DecisionLog, decision_log
from service.audit.export.exporter import EXPORT_CONNECTIONS, EXPORT_WITHIN, Exporter
from service.audit.journal import Journal
from service.authn.login_log import LoginLog
from service.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """What is written down: ``decisions`` is None where the decision log goes nowhere."""

    journal: Journal
    collector: Collector
    logins: LoginLog
    exporter: Exporter
    decisions: DecisionLog | None


def make(settings: Settings, stores: Stores, worker: str) -> Trail:
    """Return the trail of the worker with that name."""
    journal = Journal(
        settings.oplog,
        stores.log_database,
        stores.sessions.log,
        worker,
        hold_days=settings.export.hold_days,
    )
    exporter = Exporter(settings.export, pool(settings.database, EXPORT_CONNECTIONS, EXPORT_WITHIN), worker)
    return Trail(
        journal=journal,
        collector=journal.collector,
        logins=LoginLog(journal.collector.login),
        exporter=exporter,
        decisions=decision_log(settings.policy, exporter.outbox),
    )
