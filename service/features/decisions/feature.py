"""Decisions for others: AuthZEN evaluations and searches, and forward authentication."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="decisions",
    title="Decisions for other services and their proxies (AuthZEN, forward authentication)",
    off=True,
    needs=("decision_log", "permission_use"),
    paths=(
        "/access/v1/evaluation",
        "/access/v1/evaluations",
        "/access/v1/search",
        "/access/v1/forward",
        "/.well-known/authzen-configuration",
    ),
    tags={"access": "Decisions about requests to other services, and about their permissions."},
    enumerations={"EvaluationsSemantic": "execute_all deny_on_first_deny permit_on_first_permit"},
    sentences="sentences:sentence",
    routes="api:add_routes",
)
