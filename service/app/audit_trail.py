"""The audit trail of a worker: the logs, and what writes them."""

from dataclasses import dataclass

from service.app.stores import Stores
from service.audit.collector import Collector
from service.audit.journal import Journal
from service.authn.login_log import LoginLog
from service.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """The writers of the audit trail."""

    journal: Journal
    collector: Collector
    logins: LoginLog


def make(settings: Settings, stores: Stores, worker: str) -> Trail:
    """Return the trail of the worker with that name."""
    journal = Journal(
        settings.oplog,
        stores.log_database,
        stores.sessions.log,
        worker,
        hold_days=settings.export.hold_days,
    )
    return Trail(
        journal=journal,
        collector=journal.collector,
        logins=LoginLog(journal.collector.login),
    )
