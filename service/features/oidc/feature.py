"""Sign-in with providers of OpenID Connect."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="oidc",
    title="Sign-in with a provider (OpenID Connect)",
    off=True,
    needs=("directories", "services"),
    paths=("/api/auth/oidc",),
    sentences="sentences:sentence",
    parts="parts:Providers",
    routes="api:add_routes",
    rows="store:in_need",
    provides={"way-in": "ways:known_at_provider", "console-facts": "ways:facts"},
)
