"""API keys of service accounts."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="service_accounts",
    title="API keys of service accounts",
    paths=("/api/user/{id}/keys",),
    sentences="sentences:sentence",
    routes="api:add_routes",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
    provides={"key-callers": "callers:ApiKeyCallers"},
)
