"""The document of the API as a feature."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="api_document",
    title="The OpenAPI document",
    needs=("console",),
    provides={"api-document": "api:add_document_of_all"},
)
