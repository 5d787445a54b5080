"""The route of the metrics, outside the groups."""

from typing import Any

from service.features.metrics.api_metrics import Metrics
from service.features.metrics.parts import part_in
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    part = part_in(container)
    routes.serve_outside(Metrics(part.metrics, part.installation.samples, container.node.operator_token))
