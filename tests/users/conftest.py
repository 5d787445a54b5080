"""A service in the test's own process, and the parts of login on real stores."""

from tests.authn.conftest import auth, own_database, parts, permission_map, shared_database_url
from tests.support.inside_fixtures import _shared, service, shared

__all__ = [
    "_shared",
    "auth",
    "own_database",
    "parts",
    "permission_map",
    "service",
    "shared",
    "shared_database_url",
]
