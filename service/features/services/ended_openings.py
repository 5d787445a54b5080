"""Publishes the policy without public access that has ended, which no worker decides by any more."""

from typing import Final

from service.audit.seals import seals_of
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import configured
from service.features.services.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.keyspace import SessionStore
from service.records import openings
from service.records.database.transactions import Database
from service.settings import Settings

CAUSE: Final = sentence("cause_access_ended")
"""Cause of a revision that ends an opening."""


async def close_ended(database: Database, settings: Settings) -> Sentence:
    """Delete openings that have ended by the session store's clock, and publish what follows.

    Nothing hangs on it: lines end by themselves. Raises Unavailable, PolicyError and Conflict.
    """
    async with database.transaction() as connection:
        if not await openings.some_ended(connection):
            return sentence("no_access_ended")
    shipped = configured(settings)
    async with SessionStore(settings.redis, settings.auth) as store:
        live = LivePolicy(shipped, seals_of(settings.oplog), store.synchronized.now)
        changes = PolicyChanges(database, live, shipped, lambda: shipped, store.revision_key.announce)
        await store.clock()
        await live.load(database)
        async with changes.begin(CAUSE) as change:
            count = await openings.delete_ended(change.connection, change.now)
    return sentence("openings_ended", count=count)
