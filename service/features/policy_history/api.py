"""Routes of policy history and restores."""

from typing import Any

from service.administration.people import People
from service.features.explain.parts import past_of
from service.features.policy_history.api_restore import Restore
from service.features.policy_history.api_revisions import Diff, OneRevision, RevisionList
from service.features.policy_history.restore import PolicyRestore
from service.kernel.feature import provided
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    database, parts = container.stores.database, container.policy
    settings, instant = container.settings, container.stores.sessions.synchronized.instant
    people = People(settings.policy.takeover_days)
    signing = [
        made(people, instant).same_person for made in provided("signing", settings.features.off).values()
    ]
    past = past_of(container)
    seals = past.seals
    routes.serve(RevisionList(database, seals))
    routes.serve(OneRevision(database, seals, signing))
    restore = PolicyRestore(container.administration.units, seals)
    routes.serve(Restore(restore))
    routes.serve(Diff(database, parts.live, past, parts.concurrency))
