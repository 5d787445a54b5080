"""Routes for questions to the policy."""

from typing import Any

from service.features.explain import api_explain, api_matrix, api_what_if, api_who_may
from service.features.explain.parts import past_of
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of questions to the policy."""
    parts = container.policy
    asked = container.stores.database, parts.live, parts.concurrency, past_of(container)
    routes.serve(api_matrix.PolicyCoverage(parts.live, routes, parts.concurrency))
    decision_log = container.settings.policy.decision_log
    routes.serve(api_explain.Explain(*asked, decision_log))
    routes.serve(api_who_may.WhoMay(*asked))
    routes.serve(api_who_may.WhoUsers(*asked))
    routes.serve(api_who_may.WhatMay(*asked))
    routes.serve(api_what_if.WhatIf(*asked))
    routes.serve(api_matrix.RoleMatrix(*asked))
    routes.serve(api_who_may.Openings(parts.live, parts.concurrency))
