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
    routes.add("/api/user/bulk/status", api.StatusOfUsers(acts))
    routes.add("/api/user/bulk/role", api.RoleOfUsers(acts))
    routes.add("/api/user/bulk/end-sessions", api.SessionsOfUsers(acts))
    routes.add("/api/role/bulk/enabled", api.EnabledRoles(*records, administration.roles))
    routes.add("/api/resource/bulk/enabled", api.EnabledResources(*records, administration.resources))
