"""Writes batches of entries to the logs and sets refused ones aside; keeps intents until they are entries."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any, Final, Literal
from uuid import UUID

from psycopg.pq import Escaping
from sqlalchemy import Column, Table, delete, exists, func, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.database.connection import connection_of
from service.records.logs.events import LoginEvent
from service.records.schema.base import SCHEMA
from service.records.schema.logs import log_chain, log_set_aside, login_log, operation_intent, operation_log

Log = Literal["operation_log", "login_log"]

TABLES: Final[dict[Log, Table]] = {"operation_log": operation_log, "login_log": login_log}

_LOCKS: Final[dict[Log, int]] = {"operation_log": 0x6C6F6701, "login_log": 0x6C6F6702}
_SILENCE: Final = "10s"
_UNIQUE_VIOLATION: Final = "23505"
# Classes of SQLSTATE for faulty data: data exception, integrity violation, program limit exceeded.
_REFUSALS: Final = ("22", "23", "54")


class Refused(Exception):  # noqa: N818 - an outcome that the writer handles
    """The database refuses an entry of the batch; the transaction can't continue."""


class AlreadyWritten(Exception):  # noqa: N818 - as above
    """An entry of the batch is in the log already; the transaction can't continue."""


async def lock(connection: AsyncConnection, log: Log) -> None:
    """Wait until no other transaction writes to ``log``, and prevent others until this one ends.

    The server ends the transaction if its worker is silent for ``_SILENCE``, for instance because it is
    frozen.
    """
    bounded = func.set_config("idle_in_transaction_session_timeout", _SILENCE, True)
    await connection.execute(select(bounded, func.pg_advisory_xact_lock(_LOCKS[log])))


async def insert_all(connection: AsyncConnection, log: Log, rows: str, heads: str) -> None:
    """Insert ``rows`` in their order, and insert ``heads`` or replace the ones that they continue.

    Both are JSON arrays of objects whose names are columns (of ``log`` and ``log_chain``). The server parses
    them, in one statement. Raises Refused and AlreadyWritten.
    """
    with _refusals():
        await connection.execute(_insertion(log), {"rows": rows, "heads": heads})


async def written(
    connection: AsyncConnection, log: Log, keys: Collection[tuple[UUID, datetime]]
) -> set[UUID]:
    """Return the ids of the events, given by id and time, that are in ``log`` already."""
    asked = "unnest(CAST(:ids AS uuid[]), CAST(:times AS timestamptz[])) AS asked (event_id, create_time)"
    statement = text(
        f"SELECT event_id FROM {SCHEMA}.{log} JOIN {asked} USING (event_id, create_time)"  # noqa: S608 - our own names
    )
    given = {"ids": [event for event, _ in keys], "times": [moment for _, moment in keys]}
    return set((await connection.execute(statement, given)).scalars())


async def set_aside(connection: AsyncConnection, log: Log, digest: bytes, entry: str, reason: str) -> None:
    """Keep an entry that ``log`` refuses, once per ``digest``."""
    row = insert(log_set_aside).values(digest=digest, log=log, entry=entry, reason=reason)
    await connection.execute(row.on_conflict_do_nothing())


@cache
def _insertion(log: Log) -> Any:
    entries = _from_json(TABLES[log], "rows", [c for c in TABLES[log].columns if c.identity is None])
    logged = log_chain.c.told_number
    heads = _from_json(log_chain, "heads", [column for column in log_chain.columns if column is not logged])
    renewed = ", ".join(f"{name} = excluded.{name}" for name in ("number", "hash", "seal"))
    return text(f"WITH entries AS ({entries}) {heads} ON CONFLICT (log, day, key_id) DO UPDATE SET {renewed}")


def _from_json(table: Table, parameter: str, columns: Sequence[Column[Any]]) -> str:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy's gap
    names = ", ".join(column.name for column in columns)
    typed = ", ".join(f"{column.name} {column.type.compile(dialect)}" for column in columns)
    return (
        f"INSERT INTO {table.schema}.{table.name} ({names})"  # noqa: S608 - names of ours
        f" SELECT {names} FROM json_to_recordset(CAST(:{parameter} AS json)) AS given ({typed})"
    )


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None) or ""
        if state == _UNIQUE_VIOLATION:
            raise AlreadyWritten from None
        if state.startswith(_REFUSALS):
            raise Refused(f"{state}: {str(error.orig).partition(chr(10))[0]}") from None
        raise


# Never back: batches come in any order, and one may be written again.
_NOTE: Final = text(
    f"INSERT INTO {SCHEMA}.user_login AS known (user_id, last_login_time)"  # noqa: S608 - our own names
    " SELECT id, at FROM unnest(CAST(:ids AS bigint[]), CAST(:times AS timestamptz[])) AS given (id, at)"
    f' WHERE EXISTS (SELECT FROM {SCHEMA}."user" AS kept WHERE kept.id = given.id)'
    " ON CONFLICT (user_id) DO UPDATE"
    " SET last_login_time = greatest(known.last_login_time, excluded.last_login_time)"
)


async def note_logins(connection: AsyncConnection, events: Iterable[LoginEvent]) -> None:
    """Store the times of the successful logins among ``events``, entries that the transaction writes."""
    latest: dict[int, datetime] = {}
    for event in events:
        if event.event == "login" and event.outcome == "success" and event.user_id is not None:
            latest[event.user_id] = max(latest.get(event.user_id, event.create_time), event.create_time)
    if latest:
        await connection.execute(_NOTE, {"ids": list(latest), "times": list(latest.values())})


# A transaction that has written nothing so far changes nothing.
_SAVE: Final = (
    b"INSERT INTO %b.operation_intent (event_id, create_time, entry)"
    b" SELECT '%%b'::uuid, '%%b'::timestamptz, %%b WHERE pg_current_xact_id_if_assigned() IS NOT NULL"
    b" ON CONFLICT (event_id) DO UPDATE SET entry = excluded.entry"
) % SCHEMA.encode()


def save_intent(
    connection: AsyncConnection,
    event_id: UUID,
    create_time: datetime,
    entry: bytes,
    committed: Callable[[int], None],
) -> None:
    """Save the ``entry`` of a request with the commit of the transaction, if that has written anything.

    ``committed`` is called after the commit, with the number of entries that were saved: 1 or 0. A statement
    of its own would take a round trip more, while others may wait for the locks of the transaction.
    """
    driver = connection_of(connection)
    key = str(event_id).encode(), create_time.isoformat().encode()
    statement = _SAVE % (*key, Escaping(driver.pgconn).escape_literal(entry))
    driver.send_with_commit(statement, committed)


async def keep_intent(
    connection: AsyncConnection, event_id: UUID, create_time: datetime, entry: bytes
) -> None:
    """Save the ``entry`` of work without a request, such as a job, in the transaction of that work."""
    values = {"event_id": event_id, "create_time": create_time, "entry": entry.decode()}
    await connection.execute(insert(operation_intent).values(values))


async def is_awaited(connection: AsyncConnection, target: str) -> bool:
    """Return True if an entry that mentions ``target`` is saved as an intent, and not written yet."""
    mentions = operation_intent.c.entry.contains(f'"{target}"', autoescape=True)
    return bool((await connection.execute(select(exists().where(mentions)))).scalar_one())


async def settle_intents(connection: AsyncConnection, event_ids: Collection[UUID]) -> None:
    """Delete the intents of entries that the operation log has, once the transaction is committed."""
    await connection.execute(delete(operation_intent).where(operation_intent.c.event_id.in_(event_ids)))


async def settle_written_intents(connection: AsyncConnection, event_ids: Collection[UUID]) -> None:
    """Delete those of the intents whose entries the operation log has."""
    intent, log = operation_intent.c, operation_log.c
    same = (log.event_id == intent.event_id) & (log.create_time == intent.create_time)
    await connection.execute(delete(operation_intent).where(intent.event_id.in_(event_ids), same))


async def oldest_intents(connection: AsyncConnection, most: int) -> Sequence[UUID]:
    """Return the ids of at most ``most`` intents, the oldest first."""
    ids = select(operation_intent.c.event_id).order_by(operation_intent.c.event_id).limit(most)
    return (await connection.execute(ids)).scalars().all()


async def entries_of_intents(connection: AsyncConnection, event_ids: Collection[UUID]) -> dict[UUID, bytes]:
    """Return the entries of those of the intents that are there."""
    intent = operation_intent.c
    statement = select(intent.event_id, intent.entry).where(intent.event_id.in_(event_ids))
    return {row.event_id: row.entry.encode() for row in await connection.execute(statement)}
