"""Keeps an administrator in place, whatever a change revokes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.authz.publishing.live import LivePolicy
from service.authz.publishing.policy_guard import Completed
from service.errors import Conflict
from service.features.policy_checks.lockout import demanded_acr
from service.kernel.core_sentences import sentence
from service.records import role_rights
from service.records.database.transactions import Connection


@asynccontextmanager
async def keeping(
    live: LivePolicy, connection: Connection, change: Completed | None = None
) -> AsyncIterator[None]:
    """Let the block change rights or factors; Conflict, which rolls back, if no administrator remains.

    An administrator is an enabled user who holds ``*``. If an administrator has the second factor that the
    policy demands for its administration, an administrator with that factor must remain. ``role_rights.lock``
    is held until the transaction ends: of two changes that together would leave no administrator, the second
    is refused. A ``change`` of the policy is checked once its policy is derived.
    """
    await role_rights.lock(connection)
    acr = demanded_acr(live.current)
    before = await role_rights.has_administrator(connection)
    able = before and acr != "pwd" and await role_rights.has_administrator(connection, acr)
    yield

    async def require() -> None:
        if before and not await role_rights.has_administrator(connection):
            why = sentence("last_full_administrator")
            raise Conflict(why, rule="last_administrator")
        if able and not await role_rights.has_administrator(connection, acr):
            raise Conflict(sentence("last_able_administrator"), rule="last_administrator")

    if change is None:
        await require()
    else:
        change.before_commit(require)
