"""Declaration of the feature: other services."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="services",
    title="Other services, public access to them, and OAuth 2.0 for their accounts",
    paths=("/api/service", "/api/opening", "/oauth"),
    tags={
        "oauth": "Tokens for service accounts, and the introspection of tokens (RFC 6749, RFC 7662).",
        "opening": "Public access to other services, without a permission code.",
        "service": "Other services, whose routes resources guard.",
    },
    sentences="sentences:sentence",
    routes="api:add_routes",
    jobs="jobs:jobs",
)
