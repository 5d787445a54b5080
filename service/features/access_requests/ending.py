"""Early end of requests: the rule of the role changes, or the author leaves."""

from collections.abc import Collection
from datetime import datetime

from service.administration.events import Leaving, RoleChange
from service.errors import Conflict
from service.features.access_requests import store
from service.features.access_requests.log_entries import of_request
from service.features.access_requests.sentences import sentence
from service.kernel.origin import FieldChange
from service.records.database.transactions import Connection


async def role_changes(connection: Connection, change: RoleChange) -> None:
    """Fail the pending requests for a role whose rule changes.

    If the approvers change, raises ``Conflict`` while an emergency of the role is open.
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
    """Raise ``Conflict``, with the oldest emergency, if an emergency of the role is open.

    An emergency is closed by the approvers of the rule. Without a rule, the emergency could not be closed. A
    changed rule would let approvers close it that were chosen afterwards.
    """
    for emergency in await store.open_emergencies(connection, role_id):
        stated = sentence("emergency_not_closed", user=emergency.user_name, request=emergency.id)
        raise Conflict(stated, rule="in_use", accessRequestId=emergency.id)


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
    """Set the pending requests of these users and for these roles to failed, and log each."""
    ended = await store.fail_all(connection, at, reason, by=by, user_ids=user_ids, role_ids=role_ids)
    for request in ended:
        log += of_request(request.id, request.role_code, f"failed: {reason}")
