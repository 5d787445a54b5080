"""The clusters of the tests, and one server: see ``tests.keyspace.conftest``."""

from tests.keyspace.conftest import auth, own_cluster, store, valkey_cluster

__all__ = ["auth", "own_cluster", "store", "valkey_cluster"]
