"""A service in the test's own process, that the tests of a module share."""

from tests.support.inside_fixtures import house, seeded_rows, shared

__all__ = ["house", "seeded_rows", "shared"]
