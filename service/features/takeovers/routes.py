"""The routes of takeovers."""

from typing import Any

from service.administration.people import People
from service.features.takeovers import api
from service.features.takeovers.owners import Owners
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    stores = container.stores
    owners = Owners(
        stores.database,
        container.administration.delegation,
        People(container.settings.policy.takeover_days),
        stores.sessions.synchronized.instant,
    )
    routes.serve_all(api, owners)
