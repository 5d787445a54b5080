"""Fixtures of the tests of policy history."""

from tests.records.conftest import connection, shared_url

__all__ = ["connection", "shared_url"]
