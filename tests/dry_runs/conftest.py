"""A service in the test's own process, of the test alone or shared by those of a module."""

from tests.support.inside_fixtures import house, seeded_rows, service, shared

__all__ = ["house", "seeded_rows", "service", "shared"]
