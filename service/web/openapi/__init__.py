"""The OpenAPI document, made from the marks and types that serve the requests, and the pages that show it."""
