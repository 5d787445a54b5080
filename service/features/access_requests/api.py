"""The routes of requests for roles: ``/api/access-request``."""

from typing import Any

from service.features.access_requests import api_requests
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of requests."""
    requested = container.stores.database, container.parts["access_requests"].requests
    routes.add("/api/access-request", api_requests.NewAccessRequest(*requested))
    routes.add("/api/access-request/list", api_requests.AccessRequestList(*requested))
    routes.add("/api/access-request/{id}", api_requests.OneAccessRequest(*requested))
    routes.add("/api/access-request/{id}/decision", api_requests.DecisionAboutRequest(*requested))
    routes.add("/api/access-request/{id}/closing", api_requests.ClosingOfEmergency(*requested))
