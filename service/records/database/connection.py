"""Connections to the database: libpq's connection string from a URL, and waits that can be interrupted."""

import asyncio
import re
import select
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

import psycopg
from psycopg import generators, waiting
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo, ExecStatus
from psycopg.pq.abc import PGconn
from psycopg.rows import tuple_row
from sqlalchemy import Connection, Engine, event
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.metrics import Durations
from service.kernel.operator_error import OperatorError
from service.kernel.origin import Span, Value
from service.kernel.tracing import traced
from service.records.database.portions import PortionCursor

RV = TypeVar("RV")

_LEAST_CONNECT_TIMEOUT = 2  # seconds; libpq knows no shorter one

# psycopg looks for a Ctrl-C ten times a second while it waits; on an event loop, the loop does that.
_UNINTERRUPTED = 3600.0  # seconds


class DatabaseUrlError(OperatorError, ValueError):
    """The URL of the database can't be used; the message has no part of it."""


def conninfo(url: str, *, statement_timeout: float | None = None) -> str:
    """Return ``url`` as a libpq connection string with the timeouts that every connection has.

    ``url`` is any URL that libpq accepts (PostgreSQL manual §32.1.1): ``postgresql://`` and ``postgres://``,
    several hosts, a socket directory as ``?host=/dir``. SQLAlchemy's ``postgresql+psycopg://`` is accepted
    too. Parameters of the URL override these defaults, except ``statement_timeout`` (seconds), which the
    server enforces. DatabaseUrlError if it cannot be read.
    """
    scheme, separator, rest = url.partition("://")
    if scheme.split("+")[0] not in ("postgresql", "postgres") or not separator:
        raise DatabaseUrlError("a database URL starts with postgresql://")
    try:
        given = conninfo_to_dict(f"postgresql://{rest}")
    except psycopg.ProgrammingError:
        raise DatabaseUrlError(
            "the database URL can't be read: a parameter that libpq doesn't know, or a % that is not %25"
        ) from None
    bounds: dict[str, Any] = {
        "application_name": "portcullis",
        "connect_timeout": _LEAST_CONNECT_TIMEOUT,
        "tcp_user_timeout": 2000,  # milliseconds until unacknowledged data ends a connection
        "keepalives_idle": 10,  # seconds
        "keepalives_interval": 2,
        "keepalives_count": 3,
    }
    merged = bounds | given
    if statement_timeout is not None:
        option = f"-c statement_timeout={max(1, round(statement_timeout * 1000))}"
        merged["options"] = f"{given.get('options') or ''} {option}".strip()
    return make_conninfo("", **merged)


class PromptConnection(psycopg.AsyncConnection[Any]):
    """A connection that is closed as soon as a wait on it is cancelled.

    psycopg would ask the server to cancel the statement and wait for its reply, which a server that hangs
    never sends. The server notices the closed connection, or ends the statement at ``statement_timeout``.
    """

    _last: tuple[bytes, Callable[[int], None]] | None = None

    def __init__(self, pgconn: PGconn, row_factory: Any = tuple_row) -> None:
        """``pgconn`` is the connection of libpq, as psycopg has opened it."""
        super().__init__(pgconn, row_factory)
        self.cursor_factory = PortionCursor

    def send_with_commit(self, statement: bytes, committed: Callable[[int], None]) -> None:
        """Have the next commit run ``statement`` first, in the same round trip.

        If it fails, nothing is saved. ``statement`` has its values in it. ``committed`` is called after the
        commit, with the number of rows.
        """
        self._last = statement, committed

    async def commit(self) -> None:
        """Commit."""
        last, self._last = self._last, None
        if last is not None:
            async with self.lock:
                rows = await self.wait(_run_and_commit(self.pgconn, last[0]))
            last[1](rows)
        await super().commit()

    async def rollback(self) -> None:
        self._last = None
        await super().rollback()

    async def wait(
        self,
        gen: PQGen[RV],
        interval: float = _UNINTERRUPTED,
        timeout: float | None = None,  # noqa: ASYNC109 - psycopg's signature
    ) -> RV:
        """Run ``gen`` to its end; on cancellation close the connection and reraise."""
        try:
            return await waiting.wait_async(gen, self.pgconn.socket, interval=interval, timeout=timeout)
        except (asyncio.CancelledError, KeyboardInterrupt):
            self.pgconn.finish()
            raise

    async def set_read_only(self, value: bool | None) -> None:
        """Make transactions read-only; False and None both mean the server's default.

        In psycopg, False begins each transaction with READ WRITE, which overrides the operator's
        ``default_transaction_read_only``. SQLAlchemy passes False after each read-only transaction.
        """
        await super().set_read_only(value or None)


def connection_of(connection: AsyncConnection) -> PromptConnection:
    """Return the driver's connection of a transaction."""
    assert connection.sync_connection is not None  # noqa: S101 - the transaction has begun
    driver = connection.sync_connection.connection.driver_connection
    assert isinstance(driver, PromptConnection)  # noqa: S101 - those of every pool are
    return driver


def _run_and_commit(pgconn: PGconn, statement: bytes) -> PQGen[int]:
    """Run ``statement`` and the commit as one query; return the number of rows."""
    pgconn.send_query(b"%b; COMMIT" % statement)
    results = yield from generators.execute(pgconn)
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result, encoding="utf-8")
    return results[0].command_tuples or 0


def has_ended(connection: psycopg.AsyncConnection[Any]) -> bool:
    """True if an idle connection has ended; the server is not asked.

    On an idle connection the server sends nothing until it closes: then the socket is readable.
    """
    if connection.closed:
        return True
    watch = select.poll()
    watch.register(connection.pgconn.socket, select.POLLIN)
    return bool(watch.poll(0))


class PoolState(NamedTuple):
    """Connections that work, that are open and idle, and the most there may be; calls that wait for one."""

    in_use: int
    idle: int
    size: int
    waiting: int


class Usage(NamedTuple):
    """The state of a pool, and the seconds that calls over it have taken, with the wait for a connection."""

    pool: PoolState
    calls: Durations


class Access(NamedTuple):
    """A connection string without secrets for ``--dbname``, and the variables of libpq with all the rest."""

    connection: str
    variables: dict[str, str]


def access_to(url: str) -> Access:
    """Return a program's access to ``url``; the password goes into a variable. ValueError as ``conninfo``."""
    variables, arguments = {}, {}
    for option in Conninfo.parse(conninfo(url).encode()):
        if option.val is None:
            continue
        if option.envvar is not None:
            variables[option.envvar.decode()] = option.val.decode()
        else:
            arguments[option.keyword.decode()] = option.val.decode()
    return Access(make_conninfo("", **arguments), variables)


_VERB: Final = re.compile(r"\s*([A-Za-z]+)")
_MAIN: Final = re.compile(r"\b(INSERT|UPDATE|DELETE|SELECT)\b")
_TABLE: Final = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+(?:ONLY\s+)?((?:"?\w+"?\.)?"?\w+"?)')
_WITHIN: Final = re.compile(r"\([^()]*\)")
_REMEMBERED: Final = 1024


class Described(NamedTuple):
    """The name and the attributes of a statement's span."""

    name: str
    attributes: Mapping[str, Value]


@lru_cache(_REMEMBERED)
def described(statement: str | bytes) -> Described:
    """Return a description of a statement: ``SELECT sys.user``; the verb alone if it names no table.

    https://opentelemetry.io/docs/specs/semconv/database/postgresql/
    """
    text = statement.decode() if isinstance(statement, bytes) else statement
    match = _VERB.match(text)
    verb = match[1].upper() if match else "STATEMENT"
    if verb == "WITH" and (main := _MAIN.search(text)):
        verb = main[1]
    attributes: dict[str, Value] = {"db.system.name": "postgresql", "db.operation.name": verb}
    # A subquery among the columns names its table first.
    table = (
        _TABLE.search(_without_subqueries(text)) if text.startswith("SELECT") else None
    ) or _TABLE.search(text)
    if table is None:
        return Described(verb, MappingProxyType(attributes))
    name = table[1].replace('"', "")
    return Described(f"{verb} {name}", MappingProxyType(attributes | {"db.collection.name": name}))


def _without_subqueries(text: str) -> str:
    while (shorter := _WITHIN.sub("", text)) != text:
        text = shorter
    return text


def traced_statement(statement: bytes) -> AbstractContextManager[Span | None]:
    """Return a block that is the span of a single statement."""
    return traced(*described(statement), kind="client")


class StatementSpans:
    """Spans of the statements of one engine, each below the span of its transaction."""

    def __init__(self, engine: Engine) -> None:
        self._transactions: dict[Connection, Span] = {}
        self._open: dict[Connection, Span] = {}
        event.listen(engine, "before_cursor_execute", self._before)
        event.listen(engine, "after_cursor_execute", self._after)

    @contextmanager
    def within(self, transaction: Span, connection: Connection | None) -> Iterator[None]:
        """Trace the statements of ``connection`` in the block; one that gets no answer ends with an error."""
        assert connection is not None  # noqa: S101 - it is in use
        self._transactions[connection] = transaction
        try:
            yield
        finally:
            del self._transactions[connection]
            if (statement := self._open.pop(connection, None)) is not None:
                statement.end("failed")

    def _before(self, connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if (transaction := self._transactions.get(connection)) is not None:
            self._open[connection] = transaction.child(*described(statement), kind="client")

    def _after(self, connection: Connection, *_: Any) -> None:
        if (statement := self._open.pop(connection, None)) is not None:
            statement.end()
