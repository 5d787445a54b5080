"""Transactions with a time limit: the database answers in time, or ``Unavailable`` is raised."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from time import perf_counter
from typing import Any, Final, TypeAlias

import psycopg
import sqlalchemy
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, InvalidatePoolError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool, QueuePool

from service.errors import Overloaded, Unavailable
from service.kernel import tracing
from service.kernel.closable import Closable
from service.kernel.metrics import Durations
from service.kernel.origin import Span
from service.kernel.write import DryRun, OvertakenError, Write
from service.records.database.connection import (
    PoolState,
    PromptConnection,
    StatementSpans,
    Usage,
    has_ended,
    traced_statement,
)
from service.records.database.failures import (
    INCOMPLETE,
    OUT_OF_REACH,
    OVERLOADED,
    CauseLog,
    out_of_reach,
    out_of_time,
    words_of,
)
from service.records.database.servers import Servers
from service.records.database.single_reads import Pulse, SingleReads

SyncConnection: TypeAlias = sqlalchemy.Connection
"""The synchronous side of a ``Connection``, for Casbin's adapter."""
Connection: TypeAlias = AsyncConnection
"""A connection in a transaction."""
BeforeCommit: TypeAlias = Callable[[Connection], None]
"""The last step of a transaction; an error that it raises rolls everything back."""

SINGLE_READS: Final = 2
"""The most connections for statements outside transactions; each takes a fraction of a millisecond."""

_DRIVER: Final = "postgresql+psycopg://"
# The server times out a little earlier than the client: its error leaves the connection usable.
_SERVER_SHARE: Final = 0.9
DRY_RUN_WITHIN: Final = 10.0
"""Seconds that a dry run may take: it reads all roles and users twice."""
# Milliseconds that a dry run waits for a row: less than the second after which PostgreSQL looks for deadlocks
# and may end the other transaction.
_REHEARSAL_WAITS: Final = 300
_LOCK_SHARE: Final = 0.8
"""The part of the time limit of statements for which a lock is waited for: the refusal comes before that."""
_LOCK_USUAL: Final = 1.5  # seconds, where the server has no limit: behind a pooler

# The rest of the time limit of statements, as a setting of the same kind.
_PATIENCE: Final = (
    "round(1000 * coalesce(nullif(least(:within, :share * extract(epoch from"
    " nullif(current_setting('statement_timeout'), '0')::interval)), 0), least(:within, :usual)))::text"
)
_Options: TypeAlias = Mapping[str, Any]
_USUAL: Final[_Options] = {}
_REHEARSAL: Final[_Options] = {"isolation_level": "REPEATABLE READ", "rehearsal": True}
_SNAPSHOT: Final[_Options] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
_OVERTAKEN: Final = (
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
)


class Database(Closable):
    """The database of one process: at most ``pool_size`` connections for transactions, opened as needed.

    ``read`` has ``SINGLE_READS`` more, in autocommit.

    If the server is stopped, frozen, unreachable or slow, a transaction ends with ``Unavailable`` after
    ``timeout`` seconds, or after its own limit. The limit covers the wait for a free connection, its opening,
    every statement, and the caller's own work in between. A transaction with a longer limit must also get its
    first answer from the server within ``timeout``. It ends when the server stays silent for as long
    afterwards. A server that refuses writes is unavailable too, as is one that lost tables or rows of every
    installation. The cause is logged. When the database is back, new transactions work again by themselves.
    """

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 5,
        timeout: float = 2.0,
        pooled: bool = False,
        writes: bool = True,
        traced: bool = False,
        before_commit: BeforeCommit | None = None,
    ) -> None:
        """``pooled``: the URL leads to a pooler in transaction mode, which shares its sessions with others.

        Then statements are not prepared, and the server does not end them at the time limit. ``writes`` is
        False for read replicas: of several servers, any is accepted. With ``traced`` each statement of a
        transaction is a span of its own in the traces of requests. ``before_commit`` is the last step of each
        transaction that is to be committed.
        """
        self.timeout: Final = timeout
        """Seconds after which a silent server counts as unavailable."""
        self._before_commit = before_commit
        self._causes = CauseLog()
        self.emptied = False
        """True if rows that every installation has are known to be lost: then no data is trusted."""
        limit = None if pooled else timeout * _SERVER_SHARE
        self._servers = Servers(url, statement_timeout=limit, writes=writes)
        self._doubted = False  # see _doubt; until a connection is taken from the pool
        self._closed = False

        async def connect(*, autocommit: bool = False) -> PromptConnection:
            connection = await self._servers.connect(within=timeout, autocommit=autocommit)
            if pooled:
                connection.prepare_threshold = None  # never, even where a statement asks for it
            return connection

        self._single_reads = SingleReads(partial(connect, autocommit=True), SINGLE_READS)
        self._pulse = Pulse(partial(connect, autocommit=True), timeout)
        self._answered = float("-inf")  # when a transaction last ended well, by the clock of the event loop

        self._engine: AsyncEngine = create_async_engine(
            _DRIVER,
            async_creator=connect,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=timeout,
            pool_use_lifo=True,
            isolation_level="READ COMMITTED",
            hide_parameters=True,
            use_native_hstore=False,
        )
        self._calls, self._reads = Durations(), Durations()
        self._waiting = 0
        event.listen(self._engine.sync_engine, "checkout", self._replace_when_ended)
        event.listen(self._engine.sync_engine, "checkin", self._close_if_late)
        self._statement_spans = StatementSpans(self._engine.sync_engine) if traced else None

    @property
    def transactions(self) -> Usage:
        """Return the use of connections by transactions and snapshots."""
        pool = self._engine.pool
        assert isinstance(pool, QueuePool)  # noqa: S101 - it has a size
        state = PoolState(pool.checkedout(), pool.checkedin(), pool.size(), self._waiting)
        return Usage(state, self._calls)

    @property
    def reads(self) -> Usage:
        """Return the use of connections by single reads."""
        return Usage(self._single_reads.state, self._reads)

    @property
    def failures(self) -> int:
        return self._causes.count

    @asynccontextmanager
    async def transaction(
        self,
        write: Write | None = None,
        *,
        within: float | None = None,
        even_if_emptied: bool = False,
        is_step: bool = False,
    ) -> AsyncIterator[AsyncConnection]:
        """Commit when the block ends, roll back when it raises.

        ``write`` is the write that the block makes. A dry run always rolls back, all its statements see the
        same data, and it waits for no other change. It raises OvertakenError when another change affects, or
        has affected, the same rows. The block must keep the answer of an idempotent write; else the
        transaction rolls back.

        ``within`` (seconds) replaces the usual limit, for longer work; the server's first answer must still
        come within the usual limit. Raises Unavailable; if that happens during the commit, the change may
        have been saved or not. ``even_if_emptied`` skips the check of ``emptied``, to find out whether rows
        are still missing. ``is_step``: the block saves nothing, or only a step towards the requested change,
        which is not reported. It is committed without ``before_commit``.
        """
        if not even_if_emptied:
            self._check_content()
        if write is not None and write.dry_run is not None:
            async with self._rehearsal(write.dry_run, within) as connection:
                yield connection
            return
        idempotent = None if write is None else write.idempotent
        async with self._bounded(_USUAL, within) as connection:
            if idempotent is not None:
                await idempotent.begin(connection)
            yield connection
            if self._before_commit is not None and not is_step:
                self._before_commit(connection)
            if idempotent is not None:
                idempotent.end()

    @asynccontextmanager
    async def _rehearsal(self, dry_run: DryRun, within: float | None) -> AsyncIterator[AsyncConnection]:
        async with self._bounded(_REHEARSAL, max(within or 0.0, DRY_RUN_WITHIN)) as connection:
            with _overtaken():
                await connection.execute(text(f"SET LOCAL lock_timeout = {_REHEARSAL_WAITS:d}"))
                await dry_run.begin(connection)
                yield connection
                await dry_run.end(connection)
                await connection.rollback()

    @asynccontextmanager
    async def snapshot(self, *, within: float | None = None) -> AsyncIterator[AsyncConnection]:
        """Read a snapshot: all statements of the block see the same data. Raises Unavailable."""
        self._check_content()
        async with self._bounded(_SNAPSHOT, within) as connection:
            yield connection

    async def read(self, statement: bytes, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows of one prepared statement that only reads, for ``PreparedSelect``.

        The read belongs to no transaction: it sees committed data, in a dry run as well. Raises Unavailable.
        """
        self._check_content()
        begun = perf_counter()
        try:
            async with asyncio.timeout(self.timeout):
                with (
                    traced_statement(statement),
                    out_of_reach(self._causes.tell, writes=False, migrated=True),
                ):
                    rows = await self._single_reads.rows(statement, parameters)
        except OSError as error:  # TimeoutError is one
            if is_late := isinstance(error, TimeoutError):
                await self._doubt()
            self._causes.tell(f"no answer within {round(self.timeout)} s" if is_late else words_of(error))
            raise Unavailable(OUT_OF_REACH) from error
        self._reads.observe(perf_counter() - begun)
        return rows

    def _check_content(self) -> None:
        if self.emptied:
            self._causes.tell("no policy revision is left: its rows have been deleted")
            raise Unavailable(INCOMPLETE)

    async def ping(self) -> None:
        """Return if the database answers; raises Unavailable."""
        async with self.transaction() as connection:
            await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Close all connections: those in use as soon as their work has ended."""
        self._closed = True
        await self._pulse.finish()
        await self._single_reads.close()
        await self._engine.dispose()

    @asynccontextmanager
    async def _bounded(self, options: _Options, within: float | None) -> AsyncIterator[AsyncConnection]:
        with tracing.traced("transaction") as span:
            async with self._limited(options, within, span) as connection:
                yield connection

    @asynccontextmanager
    async def _limited(
        self, options: _Options, within: float | None, span: Span | None
    ) -> AsyncIterator[AsyncConnection]:
        bound = within or self.timeout
        begun, begun_exactly = asyncio.get_running_loop().time(), perf_counter()
        # A server that does not answer at first is down, however long the work may take.
        deadline = asyncio.timeout_at(begun + min(bound, self.timeout))
        writes = options is not _SNAPSHOT
        connected = False
        try:
            async with deadline, AsyncExitStack() as stack:
                connection = await self._checkout(options, stack)
                connected = True
                if span is not None and self._statement_spans is not None:
                    stack.enter_context(self._statement_spans.within(span, connection.sync_connection))
                with out_of_reach(self._causes.tell, writes=writes, migrated=True):
                    async with connection.begin():
                        if within is not None:
                            limit = round(within * _SERVER_SHARE * 1000)
                            await connection.execute(text(f"SET LOCAL statement_timeout = {limit:d}"))
                            deadline.reschedule(begun + bound)
                            await stack.enter_async_context(self._pulse.watching(deadline))
                        yield connection
        except Unavailable as refusal:
            if isinstance(refusal.__cause__, psycopg.errors.ReadOnlySqlTransaction):
                await self._doubt()
            raise _in_time(refusal, within) from refusal.__cause__
        except TimeoutError:
            if not deadline.expired():
                raise
            if connected:
                await self._doubt()
            elif self._answered > begun:
                raise self._overloaded() from None
            waited = asyncio.get_running_loop().time() - begun
            self._causes.tell(f"no answer within {round(waited)} s")
            # If the server falls silent, ``Pulse`` ends longer work before its time.
            is_over = within is not None and waited >= within
            raise Unavailable(out_of_time(bound) if is_over else OUT_OF_REACH) from None
        self._answered = asyncio.get_running_loop().time()
        self._calls.observe(perf_counter() - begun_exactly)

    def _overloaded(self) -> Overloaded:
        """Return the refusal of a call that got no connection while others got answers."""
        self._causes.tell("all connections are in use", is_fault=False)
        return Overloaded(OVERLOADED)

    async def _checkout(self, options: _Options, stack: AsyncExitStack) -> AsyncConnection:
        """Take a connection; any failure, such as a wrong password, is logged for the operator."""
        self._waiting += 1
        begun = asyncio.get_running_loop().time()
        try:
            connection = await stack.enter_async_context(self._engine.connect())
            # Set here, not earlier: an engine's options are set before the stack has the connection, and a
            # cancelled caller would lose it.
            if options:
                try:
                    await connection.execution_options(**options)
                except BaseException:
                    await connection.invalidate()
                    raise
        except (SQLAlchemyError, OSError) as error:
            if isinstance(error, PoolTimeoutError) and self._answered > begun:
                raise self._overloaded() from None
            cause = error.orig if isinstance(error, DBAPIError) else error
            self._causes.tell(words_of(cause))
            raise Unavailable(OUT_OF_REACH) from cause
        else:
            return connection
        finally:
            self._waiting -= 1

    async def _doubt(self) -> None:
        """Use none of the connections again if another server of the URL may be the primary by now."""
        if self._servers.several:
            self._doubted = True
            await self._single_reads.forget()

    def _replace_when_ended(self, connection: Any, _record: Any, _proxy: Any) -> None:
        """Discard all pooled connections before use if the server has ended the one checked out.

        Also if they are doubted: another server of the URL may be the primary by now.
        """
        doubted, self._doubted = self._doubted, False
        if doubted or has_ended(connection.driver_connection):
            raise InvalidatePoolError

    def _close_if_late(self, _connection: Any, record: Any) -> None:
        """Close a connection that comes back after ``close``: no pool would close it any more."""
        if self._closed:
            record.invalidate()


def _in_time(refusal: Unavailable, within: float | None) -> Unavailable:
    """Return the refusal, or that longer work has run out of time where the server has ended a statement."""
    if within is not None and isinstance(refusal.__cause__, psycopg.errors.QueryCanceled):
        return Unavailable(out_of_time(within))
    return refusal


def is_rehearsal(connection: AsyncConnection) -> bool:
    """Return whether the transaction is that of a dry run, which takes no lock that others wait for."""
    opened = connection.sync_connection
    return opened is not None and bool(opened.get_execution_options().get("rehearsal"))


async def take_locks(connection: AsyncConnection, *locks: int, within: float = 3600.0) -> None:
    """Wait for advisory locks, in this order, and hold them until the transaction ends.

    Rows that others are changing are waited for as long from then on. ``within`` is in seconds. Raises
    ``Overloaded``, by the transaction, for a lock that is not got in time.
    """
    taken = ", ".join(f"pg_advisory_xact_lock({lock:d})" for lock in locks)
    statement = f"SELECT set_config('lock_timeout', {_PATIENCE}, true), {taken}"
    await connection.execute(text(statement), {"within": within, "share": _LOCK_SHARE, "usual": _LOCK_USUAL})


def engine(url: str) -> Engine:
    """Return an engine for work outside the event loop, such as migrations, without a time limit."""
    return create_engine(
        _DRIVER,
        creator=Servers(url).connect_now,
        poolclass=NullPool,
        isolation_level="READ COMMITTED",
        hide_parameters=True,
        use_native_hstore=False,
    )


@contextmanager
def _overtaken() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if isinstance(error.orig, _OVERTAKEN):
            raise OvertakenError from error
        raise
