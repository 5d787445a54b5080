"""A service in the test's own process."""

from tests.support.inside_fixtures import service, shared

__all__ = ["service", "shared"]
