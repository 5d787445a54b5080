"""``sys.access_task``: requests that service accounts have made in the name of persons."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import UnknownTask
from service.records.access_requests import AccessRequest
from service.records.assignments import instant, not_ended
from service.records.database.row_mapper import RowMapper
from service.records.schema.requests import access_task
from service.records.schema.rights import user_role


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTask:
    """A request as the service account ``caller_id`` knows it, by an ``id`` that can't be guessed.

    ``service`` is the one that the question was about, "" for none.
    """

    id: str
    request_id: int
    caller_id: int
    caller_name: str
    service: str
    question_digest: str


_TASK: Final = RowMapper(AccessTask, access_task)


async def create(connection: AsyncConnection, task: AccessTask) -> None:
    """Write a task."""
    columns = {name: getattr(task, name) for name in AccessTask.__dataclass_fields__}
    await connection.execute(sa.insert(access_task).values(columns))


async def read(connection: AsyncConnection, task_id: str, caller_id: int) -> AccessTask:
    """Return a task of the service account ``caller_id``; ``UnknownTask`` for those of others too."""
    table = access_task.c
    chosen = sa.select(*_TASK.columns).where(table.id == task_id, table.caller_id == caller_id)
    task = await _TASK.one_or_none(connection, chosen)
    if task is None:
        raise UnknownTask
    return task


async def submitters(connection: AsyncConnection, request_ids: Collection[int]) -> dict[int, str]:
    """Return the names of the service accounts that have made some of these requests, by request."""
    table = access_task.c
    chosen = sa.select(table.request_id, table.caller_name).where(table.request_id.in_(list(request_ids)))
    return {row.request_id: row.caller_name for row in await connection.execute(chosen)}


async def granted_until(connection: AsyncConnection, request: AccessRequest, at: datetime) -> datetime | None:
    """Return when the role ends that was given for a request; None if it is over at ``at``, or revoked."""
    chosen = sa.select(user_role.c.valid_until).where(
        user_role.c.id == request.assignment_id, not_ended(instant(at))
    )
    return (await connection.execute(chosen)).scalar_one_or_none()
