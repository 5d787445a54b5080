"""The changes of the revisions in a period, and changes of rights that publish nothing."""

from collections.abc import AsyncIterator
from typing import Any, Final

from service.audit.seals import RevisionSeals
from service.features.log_reading.store_paging import LogReader, Span
from service.features.log_reading.store_queries import CHANGING_OPERATIONS, OperationFilter
from service.features.policy_history.api_revisions import RevisionChanges, changes_answer
from service.laboratory.analysis.sources import READ_WITHIN
from service.records.database.transactions import Database
from service.records.published import policy_revisions
from service.records.published.policy_revisions import RevisionFilter
from service.web.messages.schema import WHOLE_LIST, Moment, Schema, moment

_RIGHTS: Final = {("role", "permissions"), ("role", "enabled"), ("user", "roles"), ("user", "status")}
"""Fields of records that decide about rights without publishing a policy."""
_MOST: Final = 100_000  # entries of the operation log


class RightsChange(Schema):
    """A change of what a role gives or a user has, as the operation log has it."""

    create_time: Moment
    user_name: str | None
    request_id: str | None
    target: str
    field: str
    before: Any
    after: Any


class PolicyLog(Schema):
    """Revisions, and changes of rights that publish nothing; both newest first."""

    revisions: list[RevisionChanges]
    rights: list[RightsChange]


async def read_log(database: Database, seals: RevisionSeals, criteria: RevisionFilter) -> PolicyLog:
    """Return all matches of ``criteria``; raises Unavailable."""
    async with database.snapshot(within=READ_WITHIN) as connection:
        listed = await policy_revisions.page(connection, criteria, page=1, size=WHOLE_LIST)
        items = [await changes_answer(connection, seals, revision) for revision in listed.items]
    return PolicyLog(revisions=items, rights=[change async for change in _rights(database, criteria)])


async def _rights(database: Database, criteria: RevisionFilter) -> AsyncIterator[RightsChange]:
    """Yield the changes of rights by successful calls, newest first."""
    filtered = OperationFilter(
        user_name=criteria.user_name,
        kind=("INSERT", "UPDATE", "DELETE", "IMPORT"),
        status=[(200, 299)],
        span=Span(criteria.begin, criteria.end),
    )
    async for batch in LogReader(database).everything(CHANGING_OPERATIONS, filtered, limit=_MOST):
        for entry in batch:
            for change in entry.changes or ():
                if (change["target"].partition(":")[0], change["field"]) in _RIGHTS:
                    yield RightsChange(
                        create_time=moment(entry.create_time),
                        user_name=entry.user_name,
                        request_id=entry.request_id,
                        target=change["target"],
                        field=change["field"],
                        before=change["before"],
                        after=change["after"],
                    )
