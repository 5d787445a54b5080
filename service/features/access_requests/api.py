"""The routes of requests for roles: ``/api/access-request``."""

from typing import Any

from service.features.access_requests import api_requests
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of requests."""
    requested = container.stores.database, container.parts["access_requests"].requests
    routes.serve_all(api_requests, *requested)
