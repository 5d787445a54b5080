"""Both embedded stores in one data directory."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from service.features.embedded.postgres import ADMINISTRATOR, NAME, postgres
from service.features.embedded.privilege import own_directory
from service.features.embedded.server import Server
from service.features.embedded.valkey import SOCKET_NAME, valkey
from service.operator.data_directory import require_own
from service.operator.errors import EmbeddedError

_POSTGRES = "postgres"  # the folder of the cluster, which appears whole
_LONGEST_SOCKET_PATH = 107  # bytes; sun_path of unix(7), less its closing NUL
_LONGEST_SOCKET_NAME = 20  # bytes, "/.s.PGSQL.5432.lock"


class DataDirectory:
    """A directory that this process owns until ``release``.

    The kernel holds the lock, so it ends with the process in every case. Raises EmbeddedError if another
    process owns the directory, if it is not writable, or if another user could replace its content.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        require_own(self.path)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self.path / "owner", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise EmbeddedError(f"The data directory {self.path} can't be used: {error.strerror}") from error
        self._take()

    def release(self) -> None:
        """Release the directory for other owners."""
        self._forget_short_sockets()
        os.close(self._lock)

    def subdirectory(self, name: str) -> Path:
        """Return a subdirectory of mode 0700, created if necessary."""
        folder = self.path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def sockets(self) -> Path:
        """Return a directory of mode 0700 for unix sockets.

        It is the subdirectory ``sockets``. If that path is too long for a socket, ``sockets`` is a symbolic
        link to a short temporary directory; that of a killed owner is removed.
        """
        self._forget_short_sockets()
        place = self.path / "sockets"
        if len(os.fsencode(place)) + _LONGEST_SOCKET_NAME <= _LONGEST_SOCKET_PATH:
            return self.subdirectory("sockets")
        short = Path(tempfile.mkdtemp(prefix="portcullis-", dir="/tmp"))  # $TMPDIR may be long too
        place.symlink_to(short)
        return short

    def _forget_short_sockets(self) -> None:
        place = self.path / "sockets"
        if place.is_symlink():
            shutil.rmtree(place.readlink(), ignore_errors=True)
            place.unlink()

    def _take(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._lock, 20, 0).decode(errors="replace").strip()
            os.close(self._lock)
            raise EmbeddedError(
                f"The data directory {self.path} is in use by process {owner}: "
                "stop it, or choose another directory with --data"
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)


def is_owned(path: Path) -> bool:
    """Return true if a process owns the data directory ``path``; changes nothing."""
    try:
        lock = os.open(path / "owner", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


class EmbeddedStores:
    """A PostgreSQL and a Valkey that run while the context is entered.

    ``data`` is created if necessary and holds everything: ``postgres/``, ``valkey/``, ``sockets/`` and
    ``logs/``. ``durable=False`` trades the safety of the data for speed. Either store can be omitted if an
    external server replaces it. Neither opens a network port.

    Raises EmbeddedError: on construction if another process owns ``data``, on entering if a server does not
    start.
    """

    postgres: Server
    valkey: Server

    def __init__(
        self, data: Path, *, durable: bool = True, with_postgres: bool = True, with_valkey: bool = True
    ) -> None:
        self._directory = DataDirectory(data)
        self._servers: list[Server] = []
        try:
            self._describe(durable=durable, with_postgres=with_postgres, with_valkey=with_valkey)
        except BaseException:
            self._directory.release()
            raise

    def _describe(self, *, durable: bool, with_postgres: bool, with_valkey: bool) -> None:
        place, logs = self._directory.path, self._directory.subdirectory("logs")
        self._sockets = self._directory.sockets()
        own_directory(self._sockets)
        if with_postgres:
            program = postgres(place / _POSTGRES, self._sockets, logs / "postgres.log", durable=durable)
            self.postgres = Server(program)
            self._servers.append(self.postgres)
        if with_valkey:
            program = valkey(place / "valkey", self._sockets, logs / "valkey.log", durable=durable)
            self.valkey = Server(program)
            self._servers.append(self.valkey)

    @property
    def data(self) -> Path:
        return self._directory.path

    @property
    def database_url(self) -> str:
        """Return the URL of the database, for libpq."""
        return self.url_of(NAME)

    @property
    def redis_url(self) -> str:
        return _redis_url(self._sockets)

    def url_of(self, database: str, *, administrator: bool = False) -> str:
        """Return the URL of any database of the cluster, for its owner or for the cluster's administrator."""
        return _database_url(self._sockets, database, ADMINISTRATOR if administrator else NAME)

    def __enter__(self) -> Self:
        try:
            for server in self._servers:  # all at once: they start in parallel
                server.begin()
            for server in self._servers:
                server.wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the servers, the database last, and release the directory."""
        for server in reversed(self._servers):
            server.close()
        self._directory.release()


started = EmbeddedStores
"""The class that ``service.operator.embedded`` uses."""


def has_database(data: Path) -> bool:
    """Return true if ``data`` has a database; raises OSError without the permission to look."""
    return (data / _POSTGRES).exists()


def urls_of_running(data: Path) -> tuple[str, str] | None:
    """Return the URLs of the database and the key-value store that another process runs over ``data``.

    None if no process owns ``data``.
    """
    sockets = (data / "sockets").resolve()  # the link of a long path leads to a short one
    if not is_owned(data):
        return None
    return _database_url(sockets, NAME, NAME), _redis_url(sockets)


def _database_url(sockets: Path, database: str, role: str) -> str:
    return f"postgresql://{role}@/{database}?host={quote(str(sockets))}&port=5432"


def _redis_url(sockets: Path) -> str:
    return f"unix://{quote(str(sockets / SOCKET_NAME))}"
