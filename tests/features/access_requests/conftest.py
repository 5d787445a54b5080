"""The database as the tests of stored requests use it."""

from tests.records.conftest import connection, shared_url

__all__ = ["connection", "shared_url"]
