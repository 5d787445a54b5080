"""The means of jobs that edit rights: the policy in force, and units of work of the operator."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from service.administration.delegation import Delegation
from service.administration.operator_delegation import OperatorDelegation
from service.administration.unit_of_work import RightsUnits
from service.audit.seals import seals_of
from service.authn.revocations import Revocations
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import configured
from service.kernel.identity import operator_named
from service.kernel.origin import OPERATOR
from service.kernel.synchronized import SynchronizedClock
from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.settings import Settings

OPERATOR_OF_JOBS: Final = operator_named(OPERATOR)
"""The caller of the edits of jobs."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JobEdits:
    """The policy in force, the revocations that follow edits, and the time of the session store."""

    database: Database
    live: LivePolicy
    revocations: Revocations
    clock: SynchronizedClock

    def units(self, delegation: Delegation | None = None) -> RightsUnits:
        """Return the units of work of a job, by default with the rights of the operator."""
        return RightsUnits(
            self.database, delegation or OperatorDelegation(self.live, self.database), self.revocations
        )


@asynccontextmanager
async def job_edits(database: Database, settings: Settings) -> AsyncIterator[JobEdits]:
    """Yield the means of a job; complete pending revocations afterwards.

    Raises ``Unavailable`` and ``PolicyError``.
    """
    async with SessionStore(settings.redis, settings.auth) as store:
        revocations = Revocations(database, store)
        await store.clock()
        live = LivePolicy(configured(settings), seals_of(settings.oplog), store.synchronized.now)
        await live.load(database)
        try:
            yield JobEdits(database, live, revocations, store.synchronized)
        finally:
            await revocations.finish()
