"""Routes for questions to the policy."""

from typing import Any

from service.features.explain import api_explain, api_matrix, api_what_if, api_who_may
from service.features.explain.parts import past_of
from service.web.requests.routes import Routes


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints of questions to the policy."""
    parts = container.policy
    asked = container.stores.database, parts.live, parts.concurrency, past_of(container)
    routes.add("/api/policy/coverage", api_matrix.PolicyCoverage(parts.live, routes, parts.concurrency))
    decision_log = container.settings.policy.decision_log
    routes.add("/api/policy/explain", api_explain.Explain(*asked, decision_log))
    routes.add("/api/policy/who", api_who_may.WhoMay(*asked))
    routes.add("/api/policy/who/users", api_who_may.WhoUsers(*asked))
    routes.add("/api/policy/what", api_who_may.WhatMay(*asked))
    routes.add("/api/policy/what-if", api_what_if.WhatIf(*asked))
    routes.add("/api/policy/matrix", api_matrix.RoleMatrix(*asked))
    routes.add("/api/policy/openings", api_who_may.Openings(parts.live, parts.concurrency))
