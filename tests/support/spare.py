"""Stores to stop, freeze and kill, used by one test after the other: a new pair takes a second to make."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from service.features.embedded.stores import EmbeddedStores
from service.operator.errors import EmbeddedError
from tests.support.clusters import Clusters
from tests.support.databases import save_work
from tests.support.seeded import seed_database

_OWN = "portcullis"
_SEEDED = "spare_seeded"
_KEPT = ("postgres", "template0", "template1", _SEEDED)
_SHAPE = """
SELECT (SELECT array_agg(rolname ORDER BY oid) FROM pg_roles), (SELECT count(*) FROM pg_db_role_setting),
    (SELECT array_agg((name, setting) ORDER BY name, setting) FROM pg_file_settings)
"""
"""What belongs to all databases of a cluster, and a test may have changed."""


class SpareStores:
    """Pairs of stores, each lent to one test at a time. All that was committed survives a kill."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._idle: list[_Pair] = []
        self._made = ExitStack()

    @contextmanager
    def borrowed(self, *, seeded: bool = False) -> Iterator[EmbeddedStores]:
        """Yield a PostgreSQL and a Valkey that serve: empty, or with a seeded database.

        The borrower may do anything to them but close them.
        """
        pair = self._taken()
        pair.fill(seeded=seeded)
        yield pair.both
        if pair.is_emptied():
            self._idle.append(pair)

    def close(self) -> None:
        """Stop all pairs."""
        self._made.close()

    def _taken(self) -> _Pair:
        if self._idle:
            return self._idle.pop()
        folder = self._made.enter_context(tempfile.TemporaryDirectory(prefix="pc-"))
        return _Pair(self._made.enter_context(EmbeddedStores(self._clusters.copy_to(Path(folder)))))


@pytest.fixture(scope="session")
def spare_stores(clusters: Clusters) -> Iterator[SpareStores]:
    """Stores to borrow, for tests that stop, pause or kill them."""
    with closing(SpareStores(clusters)) as spare:
        yield spare


@pytest.fixture
def own_stores(spare_stores: SpareStores) -> Iterator[EmbeddedStores]:
    """Empty stores of the test's own, to stop, pause or kill; what was written survives that."""
    with spare_stores.borrowed() as both:
        yield both


@pytest.fixture
def own_seeded_stores(spare_stores: SpareStores) -> Iterator[EmbeddedStores]:
    """The same with a seeded database."""
    with spare_stores.borrowed(seeded=True) as both:
        yield both


class _Pair:
    def __init__(self, both: EmbeddedStores) -> None:
        self.both = both
        save_work(both)
        with self._connected() as connection:
            # Killing a server loses nothing that the system has: only a power failure would.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
            self._shape = _shape(connection)
            connection.execute(f"DROP DATABASE {_OWN}")

    def fill(self, *, seeded: bool) -> None:
        """Make the database."""
        with self._connected() as connection:
            if seeded and _SEEDED not in _databases(connection):
                connection.execute(f"CREATE DATABASE {_SEEDED} OWNER {_OWN}")
                seed_database(self.both.url_of(_SEEDED))
            template = _SEEDED if seeded else "template1"
            connection.execute(f"CREATE DATABASE {_OWN} OWNER {_OWN} TEMPLATE {template}")

    def is_emptied(self) -> bool:
        """Drop what a test has left, and start what it has stopped; False when more than that has changed."""
        try:
            for server in (self.both.valkey, self.both.postgres):
                server.resume()
            self.both.valkey.stop()
            shutil.rmtree(self.both.data / "valkey")
            self.both.valkey.start()
            self.both.postgres.start()
            with self._connected() as connection:
                for name in {*_databases(connection)} - {*_KEPT}:
                    connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
                return bool(_shape(connection) == self._shape)
        except (EmbeddedError, psycopg.Error):
            return False

    def _connected(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.both.url_of("postgres", administrator=True), autocommit=True)


def _databases(connection: psycopg.Connection[Any]) -> list[str]:
    return [name for (name,) in connection.execute("SELECT datname FROM pg_database")]


def _shape(connection: psycopg.Connection[Any]) -> Any:
    return connection.execute(_SHAPE).fetchone()
