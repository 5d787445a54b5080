"""The routes of requests for roles: ``/api/access-request``."""

from typing import Any

from service.administration.people import People
from service.features.access_requests import api_catalogue, api_requests
from service.features.access_requests.catalogue import Catalogue
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of requests."""
    requested = container.stores.database, container.parts["access_requests"].requests
    routes.serve_all(api_requests, *requested)
    people, sessions = People(container.settings.policy.takeover_days), container.stores.sessions
    catalogue = Catalogue(container.stores.database, people, sessions.synchronized.instant)
    routes.serve(api_catalogue.RequestableRoleList(catalogue))
