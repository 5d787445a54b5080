"""Declaration of the feature: other services."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="services",
    title="Other services, public access to them, and OAuth 2.0 for their accounts",
    paths=("/api/service", "/api/opening", "/oauth"),
    tags={
        "oauth": "Tokens for service accounts, and what a token is worth (RFC 6749, RFC 7662).",
        "opening": "What other services have open without a permission code.",
        "service": "Other services, whose routes resources guard.",
    },
    routes="api:add_routes",
    jobs="jobs:jobs",
)
