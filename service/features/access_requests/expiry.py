"""The job that starts, expires and reports requests. Only grants with a later start depend on it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import reduce
from time import perf_counter
from typing import Final

from service.administration.delegation import Delegation, DelegationCheck
from service.administration.job_edits import OPERATOR_OF_JOBS, JobEdits, job_edits
from service.administration.people import People
from service.audit.journal import enter_changes
from service.authz.publishing.changes import Change
from service.errors import Conflict, ValidationFailed
from service.features.access_requests import store
from service.features.access_requests.requests import AccessRequests
from service.features.access_requests.sentences import sentence
from service.features.access_requests.store import ENDED
from service.kernel.coded_sentences import Sentence
from service.kernel.identity import Caller
from service.kernel.notify import Notices
from service.kernel.write import Write
from service.records import role_rights
from service.records.database.transactions import Connection, Database
from service.settings import Settings

_AT_ONCE: Final = 500  # authors per transaction


async def settle_requests(database: Database, settings: Settings, notices: Notices) -> Sentence:
    """Grant approved requests that start now, store expiries, and notify authors of results.

    Uses the session store's clock. Raises Unavailable and PolicyError.
    """
    async with database.snapshot() as connection:
        if not await store.is_due(connection):
            return sentence("no_request_due")
    begun, given = 0, 0
    async with _requests(database, settings, notices) as requests:
        now = requests.now()
        async with database.transaction() as connection:
            expired = await store.expire(connection, now)
            beginning = await store.beginning(connection, now)
        for request_id in beginning:
            begun += 1
            given += await _begin(settings, requests, request_id)
    heard = 0
    while True:
        async with database.transaction() as connection:
            ended = await store.to_tell(connection, _AT_ONCE)
            for each in ended:
                facts = {
                    "role": each.role_code,
                    "request": str(each.id),
                    "state": each.state,
                    "reason": each.end_reason,
                    "until": each.granted_until,
                }
                await notices.notify_each(connection, [each.user_id], ENDED, "administrator", facts)
        heard += len(ended)
        if len(ended) < _AT_ONCE:
            break
    return sentence("requests_settled", given=given, begun=begun, expired=len(expired), notified=heard)


async def _begin(settings: Settings, requests: AccessRequests, request_id: int) -> bool:
    """Grant the role of a request or set it to failed, and log the result; return true if granted."""
    write = Write(OPERATOR_OF_JOBS)
    begun = perf_counter()
    try:
        request, changes = await requests.begin(write, request_id)
    except (Conflict, ValidationFailed) as refusal:
        request, changes = await requests.begin(write, request_id, failed=_why(refusal))
    if changes:
        url = f"access-requests {request_id}"
        await enter_changes(settings, changes, module="access-request", action="begin", url=url, begun=begun)
    return request.state == "approved"


def _why(refusal: Conflict | ValidationFailed) -> Sentence:
    if isinstance(refusal, Conflict):
        return refusal.stated()
    faults = [sentence("body_fault", field=each.field, fault=each.sentence) for each in refusal.faults]
    return reduce(lambda first, second: sentence("both_findings", first=first, second=second), faults)


@asynccontextmanager
async def _requests(
    database: Database, settings: Settings, notices: Notices
) -> AsyncIterator[AccessRequests]:
    async with job_edits(database, settings) as edits:
        units = edits.units(_JobDelegation(edits))
        people = People(edits.live.takeover_days)
        yield AccessRequests(units, edits.clock.now, notices, edits.live.invariants, people)


class _JobDelegation(Delegation):
    """Delegation that loads the policy on use; its caller is the operator and decides nothing."""

    def __init__(self, edits: JobEdits) -> None:
        super().__init__(edits.live, edits.clock.instant)
        self._policy = edits.live
        self._database = edits.database

    async def check(
        self, connection: Connection, caller: Caller, change: Change | None = None
    ) -> DelegationCheck:
        """Return a check for questions about other users; see ``Delegation.check``."""
        await role_rights.lock(connection)
        await self._policy.load(self._database)
        return DelegationCheck(self._policy.current, caller, caller.held, change)
