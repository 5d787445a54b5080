"""The routes of notices and mails."""

from typing import Any

from service.features.notices import api_notices
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints with the parts of ``container``."""
    database = container.stores.database
    routes.serve_all(api_notices, database)
