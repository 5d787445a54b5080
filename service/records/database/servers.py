"""The servers of a database URL: their addresses, their order, and the time limit of each."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from service.errors import Unavailable
from service.kernel.core_sentences import sentence
from service.records.database.connection import DatabaseUrlError, PromptConnection, conninfo

_SERVES, _NEW, _READ_ONLY, _REFUSES, _SILENT = range(5)
# Of libpq, where target_session_attrs asks for read-write (PostgreSQL manual §32.1.2); it has no SQLSTATE.
_IS_READ_ONLY: Final = "session is read-only"


@dataclass(slots=True)
class _Server:
    """One host and port; ``rank`` is how it answered last: the lowest is asked first."""

    name: str
    rank: int = _NEW


@cache
def _servers(names: tuple[str, ...]) -> tuple[_Server, ...]:
    """Return the servers of these names: what one pool of this process learns, all know."""
    return tuple(map(_Server, names))


class Servers:
    """Connects to the first server of ``url`` that accepts connections and, of several, also writes.

    With several hosts in the URL, ``target_session_attrs`` is ``read-write`` unless the URL has another
    value. ``writes`` is False for replicas: any server is accepted.

    The server that served last is asked first, then those that answered last time, then the others.
    ``statement_timeout`` (seconds) as for ``conninfo``. DatabaseUrlError if the URL cannot be used.
    """

    def __init__(self, url: str, *, statement_timeout: float | None = None, writes: bool = True) -> None:
        given = conninfo_to_dict(conninfo(url, statement_timeout=statement_timeout))
        each = one_by_one(given)
        self.several: Final = len(each) > 1
        if self.several and writes:
            given.setdefault("target_session_attrs", "read-write")
        names = tuple(_name(**server) for server in each)
        self._servers = _servers(names)
        self._conninfos = {
            name: make_conninfo("", **{**given, **server}) for name, server in zip(names, each, strict=True)
        }

    async def connect(self, *, within: float, autocommit: bool = False) -> PromptConnection:
        """Return a new connection; of several servers, each may take its share of ``within`` seconds.

        Raises psycopg.OperationalError, and TimeoutError if a single server does not answer.
        """
        failures: dict[str, Exception] = {}
        for server in self._in_order():
            with self._asking(server, failures):
                async with asyncio.timeout(within / len(self._servers)):
                    address = self._conninfos[server.name]
                    return await PromptConnection.connect(address, autocommit=autocommit)
        raise _none_of(failures)

    def connect_now(self) -> psycopg.Connection[Any]:
        """Return a new connection for code outside the event loop.

        Each server may take ``connect_timeout``. Raises psycopg.OperationalError.
        """
        failures: dict[str, Exception] = {}
        for server in self._in_order():
            with self._asking(server, failures):
                return psycopg.connect(self._conninfos[server.name])
        raise _none_of(failures)

    def _in_order(self) -> list[_Server]:
        return sorted(self._servers, key=attrgetter("rank"))

    @contextmanager
    def _asking(self, server: _Server, failures: dict[str, Exception]) -> Iterator[None]:
        """Note how ``server`` answers; of several servers, a failure ends only the block."""
        try:
            yield
        except (psycopg.OperationalError, TimeoutError) as error:
            server.rank = _rank(error)
            if not self.several:
                raise
            failures[server.name] = error
        else:
            server.rank = _SERVES


def _rank(error: Exception) -> int:
    if isinstance(error, TimeoutError | psycopg.errors.ConnectionTimeout):
        return _SILENT
    return _READ_ONLY if _IS_READ_ONLY in str(error) else _REFUSES


def _none_of(failures: dict[str, Exception]) -> psycopg.OperationalError:
    words: dict[int, Callable[[Exception], str]] = {
        _SILENT: lambda _error: "does not answer",
        _READ_ONLY: lambda _error: "is read-only",
        _REFUSES: lambda error: str(error).partition("\n")[0],
    }
    reasons = (f"{name}: {words[_rank(error)](error)}" for name, error in failures.items())
    return psycopg.OperationalError(f"no server takes connections and writes; {', '.join(reasons)}")


def one_by_one(given: dict[str, Any]) -> list[dict[str, str]]:
    """Return host, address and port of each server; one port may be for all (PostgreSQL manual §32.1.1.3).

    DatabaseUrlError if their numbers differ.
    """
    lists = {name: str(given[name]).split(",") for name in ("host", "hostaddr", "port") if name in given}
    most = max((len(parts) for name, parts in lists.items() if name != "port"), default=1)
    if len(lists.get("port", "")) == 1:
        lists["port"] *= most
    if any(len(parts) != most for parts in lists.values()):
        raise DatabaseUrlError("the database URL needs one port, or one for each host")
    return [{name: parts[index] for name, parts in lists.items()} for index in range(most)]


def _name(host: str = "", hostaddr: str = "", port: str = "") -> str:
    return f"{host or hostaddr or 'localhost'}:{port or '5432'}"


def described(url: str) -> str:
    """Return the name and the servers of the database at ``url``, without user and password.

    Such as ``the database portcullis at db1:5432, db2:5432``. DatabaseUrlError if the URL can't be used.
    """
    given = conninfo_to_dict(conninfo(url))
    servers = ", ".join(_name(**server) for server in one_by_one(given))
    return f"the database {given.get('dbname') or given.get('user') or '(default)'} at {servers}"


def tcp_addresses(url: str) -> Iterator[tuple[str, int]]:
    """Yield host and port of each server of ``url`` that may be asked for TLS; none of a URL that is wrong.

    Those of sockets in the file system are left out, and all if ``sslmode`` is ``disable``.
    """
    try:
        given = conninfo_to_dict(conninfo(url))
        each = one_by_one(given)
    except DatabaseUrlError:
        return
    if given.get("sslmode") == "disable":
        return
    for server in each:
        host = server.get("hostaddr") or server.get("host") or ""
        if host and not host.startswith(("/", "@")):
            yield host, int(server.get("port") or 5432)


_CONNECT_WITHIN: Final = 5.0  # seconds


async def announcements(url: str, channel: str) -> AsyncGenerator[str, None]:
    """Yield "" once listening has begun, then the text of each announcement on ``channel``.

    Uses its own connection. Announcements from before are lost: check the state itself after the first
    yield. Raises Unavailable if the connection can't be opened or ends.
    """
    try:
        async with asyncio.timeout(_CONNECT_WITHIN):
            connection = await Servers(url).connect(within=_CONNECT_WITHIN, autocommit=True)
        async with connection:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            yield ""
            async for notice in connection.notifies():
                yield notice.payload
    except (psycopg.Error, OSError) as error:  # TimeoutError is an OSError
        raise Unavailable(sentence("database_unavailable")) from error
