"""Errors about the database's own state: they become ``Unavailable``, and the cause is logged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

import psycopg
import structlog
from sqlalchemy.exc import DBAPIError, InterfaceError, NoResultFound, OperationalError, SQLAlchemyError

from service.errors import Overloaded, Unavailable
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.text import printable

OUT_OF_REACH: Final = sentence("database_unavailable")
OVERLOADED: Final = sentence("database_overloaded")
BEING_CHANGED: Final = sentence("data_being_changed")
READ_ONLY: Final = sentence("database_read_only")
INCOMPLETE: Final = sentence("database_incomplete")


def out_of_time(within: float) -> Sentence:
    """Return the message for work that exceeds ``within`` seconds while the database answers."""
    return sentence("out_of_time", seconds=f"{within:g}")


TELL_EVERY: Final = 10.0
"""Seconds until the same cause is logged again."""

# PostgreSQL manual, Appendix A.
_READ_ONLY_STATE: Final = "25006"
_INCOMPLETE_STATES: Final = frozenset(
    {
        "3F000",  # a schema is missing
        "42P01",  # a table
        "42703",  # a column
        "42704",  # an index, a type
        "42883",  # a function
        "42501",  # a privilege
    }
)
_HELD_BY_OTHERS: Final = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)
_AGAIN: Final = 2
"""Seconds after which a change is tried again that has met another one."""
_MOST_CAUSES: Final = 50

_log = structlog.get_logger()


class CauseLog:
    """Logs why the database fails: each cause at once, and again only after ``TELL_EVERY`` seconds."""

    def __init__(self) -> None:
        self._again: dict[str, float] = {}
        self.count = 0
        """Number of failures of the database."""

    def tell(self, cause: str, *, is_fault: bool = True) -> None:
        """Log ``cause``, unless the same one was logged recently; if no fault of the server, as a warning."""
        self.count += is_fault
        now = monotonic()
        if now < self._again.get(cause, 0.0):
            return
        if len(self._again) >= _MOST_CAUSES:
            self._again.clear()
        self._again[cause] = now + TELL_EVERY
        if is_fault:
            _log.error("the database fails", reason=cause)
        else:
            _log.warning("the database has no connection free", reason=cause)


def _ignore(_cause: str) -> None:
    """Do nothing."""


@contextmanager
def out_of_reach(
    tell: Callable[[str], None] = _ignore,
    *,
    writes: bool = True,
    migrated: bool = False,
    in_words: bool = False,
) -> Iterator[None]:
    """Turn errors about the connection or the server's state into ``Unavailable``.

    A lock held by others is no fault of the server: it raises ``Overloaded``. The cause is kept without the
    statement and its parameters; ``tell`` gets it as a line of text. If not ``writes``, a "read-only" error
    is a bug of the caller and is not translated. ``migrated``: all migrations have run, so a missing table
    was lost. The same holds for a missing row that every installation has. ``in_words``: the refusal includes
    the cause, for an operator at the command line.
    """
    try:
        yield
    except (SQLAlchemyError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(cause, _HELD_BY_OTHERS):
            raise Overloaded(BEING_CHANGED, retry_after=_AGAIN) from cause
        detail = _detail(error, cause, writes=writes, migrated=migrated)
        if detail is None:
            raise
        tell(words_of(cause))
        raise Unavailable(
            sentence("database_fault", fault=detail, cause=_message_of(cause)) if in_words else detail
        ) from cause


def words_of(cause: BaseException | None) -> str:
    """Return ``cause`` in one line: its type and the server's message, which never holds a parameter."""
    return f"{type(cause).__name__}: {_message_of(cause)}"


def reason_of(refusal: Unavailable) -> str:
    """Return why a store was out of reach, as reported by its server or the system; "" without a report.

    Servers repeat no password. After several attempts, the last report counts.
    """
    cause = refusal.__cause__
    if cause is None or isinstance(cause, TimeoutError):
        return ""
    words = cause.diag.message_primary if isinstance(cause, psycopg.Error) else None
    lines = [line.strip() for line in (words or str(cause)).splitlines() if line.strip()]
    refusals = [line.rpartition("FATAL:")[2].strip() for line in lines if "FATAL:" in line]
    return printable(refusals[-1] if refusals else lines[0] if lines else "")


def _message_of(cause: BaseException | None) -> str:
    message = cause.diag.message_primary if isinstance(cause, psycopg.Error) else None
    return message or str(cause).partition("\n")[0]


def _detail(
    error: Exception, cause: BaseException | None, *, writes: bool, migrated: bool
) -> Sentence | None:
    state = getattr(cause, "sqlstate", None)
    if writes and state == _READ_ONLY_STATE:
        return READ_ONLY
    if migrated and (state in _INCOMPLETE_STATES or isinstance(error, NoResultFound)):
        return INCOMPLETE
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    unreachable = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
    return OUT_OF_REACH if lost or isinstance(error, unreachable) else None
