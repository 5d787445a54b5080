"""The database that fails: a PostgreSQL behind a proxy."""

import time
from pathlib import Path

import psycopg
from psycopg import sql

from service.features.embedded import program
from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.fault_matrix.mounts import NEEDS_MOUNT, fill, unfill
from tests.benchmarks.fault_matrix.proxy import Proxy
from tests.benchmarks.fault_matrix.stores import FaultyStore
from tests.support.waiting import eventually

_SETTLE = 0.3  # seconds; connections that are there already hear of a setting after new ones
NAME = "service_under_faults"
_SAVED = f"{NAME}_saved"


class FaultyDatabase(FaultyStore):
    """PostgreSQL with one database; ``small`` is where its tables lie, on a file system of limited size.

    ``small`` is None where no such file system could be mounted.
    """

    name = "database"

    def __init__(self, stores: EmbeddedStores, folder: Path, small: Path | None) -> None:
        self._stores = stores
        self._folder = folder
        self._small = small
        place = ""
        if small is not None:
            self._administer(f"CREATE TABLESPACE small LOCATION '{small}'")
            place = "TABLESPACE small"
        self._administer(f"CREATE DATABASE {NAME} OWNER portcullis {place}")
        super().__init__(stores.postgres, Proxy(folder.parent / "sockets" / ".s.PGSQL.5432"))
        self.url = f"postgresql://portcullis@127.0.0.1:{self.proxy.port}/{NAME}"
        self.direct_url = stores.url_of(NAME)

    def impossible(self, fault: str) -> str | None:
        """Say why this fault can't be made here."""
        return NEEDS_MOUNT if fault == "full" and self._small is None else None

    def _inject(self, fault: str) -> None:
        if fault == "read-only":
            self._administer("ALTER SYSTEM SET default_transaction_read_only = on")
            self._reload(expected="on")
        elif fault == "full":
            assert self._small is not None
            fill(self._small)
        elif fault == "emptied":
            self._empty()

    def _heal(self, fault: str) -> None:
        if fault == "read-only":
            self._administer("ALTER SYSTEM RESET default_transaction_read_only")
            self._reload(expected="off")
        elif fault == "full":
            assert self._small is not None
            unfill(self._small)
        elif fault == "emptied":
            self._administer(f"DROP DATABASE {NAME} WITH (FORCE)")
            self._administer(f"ALTER DATABASE {_SAVED} RENAME TO {NAME}")

    def _empty(self) -> None:
        """Drop the schema; nobody writes between the copy of it and that."""
        self.proxy.refuse()
        self._end_connections()
        self._administer(f"CREATE DATABASE {_SAVED} OWNER portcullis TEMPLATE {NAME}")
        with psycopg.connect(self.direct_url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA sys CASCADE")
        self.proxy.accept()

    def _pids(self) -> list[int]:
        return program.at_work_in(self._folder, "postgres")

    def _reload(self, expected: str) -> None:
        self._administer("SELECT pg_reload_conf()")

        def is_in_force() -> bool:
            with psycopg.connect(self.direct_url) as connection:
                row = connection.execute("SHOW default_transaction_read_only").fetchone()
            return row == (expected,)

        assert eventually(is_in_force)
        time.sleep(_SETTLE)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.direct_url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _end_connections(self) -> None:
        ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        url = self._stores.url_of("postgres", administrator=True)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(ending, (NAME,))
            count = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
            assert eventually(lambda: connection.execute(count, (NAME,)).fetchone() == (0,))

    def _administer(self, statement: str) -> None:
        url = self._stores.url_of("postgres", administrator=True)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement))  # of constants of this file
