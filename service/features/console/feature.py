"""The web console as a feature."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="console",
    title="The console in browsers",
    sentences="sentences:sentence",
    routes="api:add_routes",
)
