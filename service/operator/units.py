"""Units of work for commands: under the rights of a user, or of the operator."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.administration.operator_delegation import OperatorDelegation
from service.administration.unit_of_work import UnitsOfWork
from service.audit.seals import seals_of
from service.authn.revocations import Revocations
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import Shipped
from service.errors import Conflict, NotFound
from service.kernel.codes import HeldCodes
from service.kernel.core_sentences import sentence
from service.kernel.identity import Caller, operator_named
from service.keyspace import SessionStore
from service.operator.who import operator_name
from service.records import accounts, role_rights
from service.records.database.transactions import Database
from service.settings import Settings


def operator() -> Caller:
    """Return the operator as a caller, by the name of the account that runs the command."""
    return operator_named(operator_name())


async def caller_named(database: Database, user_name: str) -> Caller:
    """Return the user as a caller; NotFound, and Conflict for a disabled or banned user."""
    async with database.transaction() as connection:
        known = await accounts.standing(connection, user_name)
        if known is None:
            raise NotFound(sentence("no_user_with_name", user=user_name))
        held = await role_rights.of_enabled_user(connection, known.user_id)
    if held is None:
        raise Conflict(sentence("user_disabled", user=user_name), rule="kept_out")
    codes = HeldCodes(held.permissions)
    return Caller(
        known.user_id, str(known.user_id), known.user_name, known.user_name, "", held.roles, codes, 0.0
    )


@asynccontextmanager
async def units_of_work(
    settings: Settings, database: Database, shipped: Shipped
) -> AsyncIterator[UnitsOfWork]:
    """Yield units of work that publish with the lines of ``shipped``; complete pending work afterwards.

    ``database`` needs two connections.
    """
    live = LivePolicy(shipped, seals_of(settings.oplog))
    async with SessionStore(settings.redis, settings.auth) as store:
        changes = PolicyChanges(database, live, shipped, lambda: shipped, store.revision_key.announce)
        revocations = Revocations(database, store)
        try:
            yield UnitsOfWork(database, changes, OperatorDelegation(live, database), revocations)
        finally:
            await revocations.finish()
