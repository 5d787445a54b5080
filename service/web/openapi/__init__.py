"""The OpenAPI document, generated from the operations that serve requests, and its pages."""
