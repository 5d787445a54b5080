"""Routes of bulk operations."""

from typing import Any

from service.features.bulk_acts import api
from service.features.bulk_acts.users import BulkActs
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of bulk operations."""
    administration, stores = container.administration, container.stores
    revocations = container.sign_in.revocations
    acts = BulkActs(administration.units, administration.accounts, revocations, stores.sessions)
    records = stores.database, container.policy.live
    routes.serve(api.StatusOfUsers(acts))
    routes.serve(api.RoleOfUsers(acts))
    routes.serve(api.SessionsOfUsers(acts))
    routes.serve(api.EnabledRoles(*records, administration.roles))
    routes.serve(api.EnabledResources(*records, administration.resources))
