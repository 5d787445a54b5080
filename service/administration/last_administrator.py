"""Somebody remains who may do everything, whatever a change of rights or factors takes away."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.authz.publishing.changes import Change
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.lockout import demanded_acr
from service.errors import Conflict
from service.records import role_rights
from service.records.database.transactions import Connection


@asynccontextmanager
async def keeping(
    live: LivePolicy, connection: Connection, change: Change | None = None
) -> AsyncIterator[None]:
    """Let the block change rights or factors; Conflict, which rolls back, if no administrator remains.

    An administrator is an enabled user who holds ``*``. Where there is one who has the second factor that
    the policy in force demands for administering it, such a one remains. ``role_rights.lock`` is held
    until the transaction ends, so that of two changes that together would leave none, the second one is
    refused. In a ``change`` of the policy that is looked at once its policy is derived.
    """
    await role_rights.lock(connection)
    acr = demanded_acr(live.current)
    before = await role_rights.has_administrator(connection)
    able = before and acr != "pwd" and await role_rights.has_administrator(connection, acr)
    yield

    async def require() -> None:
        if before and not await role_rights.has_administrator(connection):
            why = "This would leave no enabled user who may do everything"
            raise Conflict(why, rule="last_administrator")
        if able and not await role_rights.has_administrator(connection, acr):
            why = "This would leave no enabled administrator with the second factor that is demanded"
            raise Conflict(f"{why} of them", rule="last_administrator")

    if change is None:
        await require()
    else:
        change.before_commit(require)
