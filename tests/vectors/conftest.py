"""A service in the test's own process."""

from tests.support.inside_fixtures import shared

__all__ = ["shared"]
