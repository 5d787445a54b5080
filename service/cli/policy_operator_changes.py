"""Changes of the policy by commands of the operator, checked like those of requests."""

from __future__ import annotations

from service.audit.chain.seals import RevisionSeals
from service.authz.engine.rules import PolicyError
from service.authz.publishing.announced import leave_to_workers
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy, UntrustedRevisionError
from service.authz.publishing.shipped import Shipped
from service.records import policy_revisions
from service.records.database.transactions import Database


async def operator_changes(database: Database, shipped: Shipped, seals: RevisionSeals) -> PolicyChanges:
    """Return changes that may neither break a statement of the invariants nor lock everybody out anew.

    They are compared with the newest published policy; before the first one there is nothing to compare
    with. One that can't be used is replaced first by what is stored, as a worker does. Raises PolicyError if
    no policy can be built from that, UntrustedRevisionError if that one is sealed by an unknown key, and
    Unavailable.
    """
    live = LivePolicy(shipped, seals)
    changes = PolicyChanges(database, live, shipped, lambda: shipped, leave_to_workers)
    async with database.snapshot() as connection:
        published = await policy_revisions.latest(connection)
    if published is not None:
        try:
            await live.load(database)
        except PolicyError as fault:
            if isinstance(fault, UntrustedRevisionError) and fault.judgement.authenticity == "unknown_key":
                raise
            await changes.mend(f"derived anew: {fault}", published.revision + 1)
    return changes
