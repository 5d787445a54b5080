"""Requests that end early: their role is asked for in another way, or their author leaves."""

from collections.abc import Collection
from datetime import datetime

from service.administration.events import Leaving, RoleChange
from service.errors import Conflict
from service.features.access_requests import store
from service.features.access_requests.log_entries import of_request
from service.kernel.origin import FieldChange
from service.records.database.transactions import Connection


async def role_changes(connection: Connection, change: RoleChange) -> None:
    """End the requests for a role that wait for approvals; ``Conflict`` while an emergency of it is open.

    The latter only where others would close it, or nobody could.
    """
    if change.approvers:
        await _require_closed(connection, change.role_id)
    if change.lines and change.at is not None:
        about = {"role_ids": [change.role_id]}
        await _fail_all(connection, change.log, change.at, change.cause, by=change.by, **about)


async def account_leaves(connection: Connection, leaving: Leaving) -> None:
    """End the requests of a user that wait for approvals."""
    about = {"user_ids": [leaving.user_id]}
    await _fail_all(connection, leaving.log, leaving.at, leaving.cause, by=leaving.by, **about)


async def _require_closed(connection: Connection, role_id: int) -> None:
    """Check that no emergency of the role is open; ``Conflict`` that names the oldest one else.

    The lines by which it is closed are those of the rule: without them nobody could, and with others those
    whom somebody has chosen afterwards.
    """
    for emergency in await store.open_emergencies(connection, role_id):
        who = f"{emergency.user_name} was given the role in an emergency that nobody has closed"
        raise Conflict(f"{who}: request {emergency.id}", rule="in_use", accessRequestId=emergency.id)


async def _fail_all(
    connection: Connection,
    log: list[FieldChange],
    at: datetime,
    reason: str,
    *,
    by: str,
    user_ids: Collection[int] = (),
    role_ids: Collection[int] = (),
) -> None:
    """End the pending requests of these users and for these roles as failed, and log each."""
    ended = await store.fail_all(connection, at, reason, by=by, user_ids=user_ids, role_ids=role_ids)
    for request in ended:
        log += of_request(request.id, request.role_code, f"failed: {reason}")
