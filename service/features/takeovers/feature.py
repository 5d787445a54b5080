"""Takeovers of accounts: listing and confirmation of owners."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="takeovers",
    title="Takeovers: who could get to act as the owner of an account",
    paths=("/api/user/{id}/takeovers", "/api/user/{id}/owner"),
    sentences="sentences:sentence",
    routes="routes:add_routes",
)
