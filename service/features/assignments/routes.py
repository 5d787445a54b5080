"""Routes of assignments."""

from typing import Any

from service.features.assignments import api
from service.features.assignments.edits import AssignmentEdits
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of assignments."""
    administration, stores = container.administration, container.stores
    edits = AssignmentEdits(administration.units, administration.notices, stores.sessions.synchronized.now)
    assigned = stores.database, edits
    routes.serve_all(api, *assigned)
