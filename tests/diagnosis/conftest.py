"""A service in the test's own process."""

from tests.support.inside_fixtures import _shared, service, shared

__all__ = ["_shared", "service", "shared"]
