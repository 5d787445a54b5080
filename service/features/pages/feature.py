"""Pages: the start page, the API to read and try out, the problem codes, and the guide."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="pages",
    title="Pages of the API and of the guide",
    off=True,
    needs=("api_document", "console"),
    paths=("/docs/assets", "/docs/errors", "/docs/guide"),  # / and /docs have pages of the trunk below them
    sentences="sentences:sentence",
    routes="api:add_routes",
    provides={"banner": "links:BANNER", "console-facts": "links:facts"},
)
