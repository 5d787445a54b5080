"""A service in the test's own process, shared by the tests of a module."""

from tests.support.inside_fixtures import service, shared

__all__ = ["service", "shared"]
