"""A PostgreSQL with a standby, to be killed, frozen and promoted."""

import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from service.features.embedded.postgres import ADMINISTRATOR, NAME, postgres
from service.features.embedded.privilege import own_directory
from service.features.embedded.program import at_work_in, guarded, postgres_program, send, server_environment
from service.features.embedded.server import Server
from service.features.embedded.stores import EmbeddedStores
from tests.support.waiting import eventually

_SYNCHRONOUS = ("-c", "synchronous_commit=on", "-c", "cluster_name=standby")


class ReplicatedPostgres:
    """A primary and a standby below ``place``; every commit waits for the standby if ``synchronous``.

    Both run from entering the context until leaving it. ``url`` names both servers, the primary first.
    """

    def __init__(self, place: Path, *, synchronous: bool = True) -> None:
        self._place = place
        self._synchronous = synchronous
        self._primary = EmbeddedStores(place / "primary", durable=False, with_valkey=False)
        self._standby: Server | None = None
        self._sockets = place / "standby-sockets"

    @property
    def url(self) -> str:
        """The URL of the database, with both servers."""
        return f"{self._url(NAME, f'{self._primary_sockets},{self._sockets}')}"

    @property
    def standby_url(self) -> str:
        """The URL of the database on the standby, for its administrator."""
        return self._url(ADMINISTRATOR, str(self._sockets))

    @property
    def primary(self) -> Server:
        """The server that is the primary at first."""
        return self._primary.postgres

    @property
    def replica_url(self) -> str:
        """The URL of the database on the standby, for the role that owns it."""
        return self._url(NAME, str(self._sockets))

    def stop_standby(self) -> None:
        """Stop the standby; returns when it has ended."""
        assert self._standby is not None
        self._standby.stop()

    def kill_primary(self) -> None:
        """End all processes of the primary by SIGKILL; returns when they are gone."""
        directory = self._primary.data / "postgres"
        self.primary._program = replace(self.primary._program, stop_signal=signal.SIGKILL)
        self.primary.stop()
        while left := at_work_in(directory, "postgres"):
            send(left, signal.SIGKILL)

    def promote(self) -> None:
        """Make the standby the primary; returns when it takes writes."""
        with psycopg.connect(self.standby_url, autocommit=True) as connection:
            assert connection.execute("SELECT pg_promote(true, 30)").fetchone() == (True,)

    def __enter__(self) -> Self:
        self._primary.__enter__()
        try:
            self._make_standby()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _make_standby(self) -> None:
        directory = self._place / "standby"
        own_directory(self._sockets)
        words = (
            str(postgres_program("pg_basebackup")),
            "-h",
            str(self._primary_sockets),
            "-U",
            ADMINISTRATOR,
        )
        copying = guarded((*words, "-D", str(directory), "-R", "-c", "fast", "--no-sync"), signal.SIGKILL)
        subprocess.run(copying, env=server_environment(), check=True, capture_output=True)
        program = postgres(directory, self._sockets, self._place / "standby.log", durable=False)
        self._standby = Server(replace(program, command=(*program.command, *_SYNCHRONOUS)))
        self._standby.start()
        if self._synchronous:
            with psycopg.connect(
                self._primary.url_of(NAME, administrator=True), autocommit=True
            ) as connection:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                connection.execute("ALTER ROLE portcullis SET synchronous_commit = on")
                connection.execute("SELECT pg_reload_conf()")
                states = "SELECT sync_state FROM pg_stat_replication"
                assert eventually(lambda: connection.execute(states).fetchall() == [("sync",)])

    def _close(self) -> None:
        if self._standby is not None:
            self._standby.close()
        self._primary.close()

    @property
    def _primary_sockets(self) -> Path:
        return self._primary.data / "sockets"

    @staticmethod
    def _url(role: str, hosts: str) -> str:
        return f"postgresql://{role}@/{NAME}?host={hosts}&port=5432"
