"""The policy of a worker: the one in force, how it follows changes, and how it makes them."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from service.app.readiness import node_facts
from service.app.stores import Stores
from service.audit.seals import seals_of
from service.authz.engine.concurrency import ConcurrencyLimit
from service.authz.publishing.announced import AnnouncedRevision
from service.authz.publishing.changes import PolicyChanges
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.revisions import Acknowledgements
from service.authz.publishing.shipped import Shipped, configured
from service.authz.publishing.watch import PolicyWatch
from service.records.database.servers import announcements
from service.records.published import policy_lines
from service.settings import Settings
from service.settings.all_sections import shared_digests

Troubles = Callable[[], Mapping[str, Mapping[str, Any]]]
"""Returns the parts of the worker that are not up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyParts:
    """The deciding parts of the policy; ``concurrency`` limits questions about it."""

    shipped: Shipped
    live: LivePolicy
    changes: PolicyChanges
    watch: PolicyWatch
    acknowledged: Acknowledgements
    concurrency: ConcurrencyLimit


def make(
    settings: Settings,
    shipped: Shipped,
    stores: Stores,
    worker: str,
    troubles: Troubles,
    *,
    former: Collection[str] = (),
) -> PolicyParts:
    """Return the policy of the worker with that name; nodes exchange the result of ``troubles``.

    ``former`` are the names of ended workers, which may not have signed off.
    """
    database, revision_key = settings.database, stores.sessions.revision_key
    seals = seals_of(settings.oplog)
    live = LivePolicy(shipped, seals, stores.sessions.synchronized.now)
    changes = PolicyChanges(
        stores.database, live, shipped, partial(configured, settings), revision_key.announce
    )
    watch = PolicyWatch(
        live,
        stores.database,
        partial(announcements, database.direct_url or database.url, policy_lines.CHANNEL),
        AnnouncedRevision(revision_key, stores.database, live.restore_epoch),
        worker,
        token_life=settings.auth.access_timeout,
        own_digests=settings.policy.own_digests,
        mend=changes.mend,
        former=former,
        facts=partial(
            node_facts, shared_digests(settings, settings.auth.jwt_secret), troubles, seals.key_ids
        ),
    )
    return PolicyParts(
        shipped=shipped,
        live=live,
        changes=changes,
        watch=watch,
        acknowledged=Acknowledgements(watch),
        concurrency=ConcurrencyLimit(),
    )
