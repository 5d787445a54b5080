"""``sys.chat_message``: the outbox of a chat. One sender claims a due message, for as long as it may take."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa
from msgspec import Struct

from service.features.chat.schema import chat_message
from service.features.chat.sentences import sentence
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.base import past

MOST_WAITING: Final = 1_000
"""Messages that wait for one destination; further ones are dropped, so that a writer never waits."""
TRIED_FOR: Final = timedelta(days=1)
KEPT: Final = timedelta(days=7)
"""The time for which a finished message counts."""
FIRST_RETRY: Final = timedelta(seconds=30)
LONGEST_RETRY: Final = timedelta(minutes=30)
_DOUBLINGS: Final = 10  # more would not fit into an interval
_WAITING: Final = chat_message.c.state == "waiting"
_DUE: Final = sa.and_(_WAITING, chat_message.c.next_time <= sa.func.now())


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A claimed message; ``attempts`` includes this attempt."""

    id: int
    message_id: str
    destination: str
    kind: str
    facts: Mapping[str, str]
    request: str | None
    attempts: int
    create_time: datetime


class Standing(Struct, frozen=True):
    """Messages of a destination: waiting, sent and given up within ``KEPT``; the age of the oldest waiting.

    ``oldest`` is in seconds. ``fault`` is that of the youngest failed message, None if the last one was sent.
    """

    destination: str
    waiting: int
    sent: int
    given_up: int
    oldest: float
    fault: str | None


_MESSAGE: Final = RowMapper(ChatMessage, chat_message)


async def add(
    connection: Connection,
    *,
    message_id: str,
    destination: str,
    kind: str,
    facts: Mapping[str, str],
    request: str | None,
) -> bool:
    """Write a waiting message; return False and write nothing if ``MOST_WAITING`` wait already."""
    waiting = sa.select(chat_message.c.id).where(_WAITING, chat_message.c.destination == destination)
    counted = sa.select(sa.func.count()).select_from(waiting.limit(MOST_WAITING).subquery())
    if (await connection.execute(counted)).scalar_one() >= MOST_WAITING:
        return False
    values = {
        "message_id": message_id,
        "destination": destination,
        "kind": kind,
        "facts": dict(facts),
        "request": request,
    }
    await connection.execute(sa.insert(chat_message).values(values))
    return True


async def pending(connection: Connection) -> bool:
    """Return whether a message is due, or too old to be kept."""
    asked = sa.select(sa.or_(sa.exists().where(_DUE), sa.exists().where(_is_over())))
    return bool(await connection.scalar(asked))


async def claim(connection: Connection, names: Collection[str], lease: timedelta) -> ChatMessage | None:
    """Claim the oldest due message to one of ``names``, for the time ``lease``; None if none is due."""
    due = sa.select(chat_message.c.id).where(_DUE, chat_message.c.destination.in_(names))
    due = due.order_by(chat_message.c.next_time, chat_message.c.id).limit(1)
    chosen = due.with_for_update(skip_locked=True).scalar_subquery()
    claimed = sa.update(chat_message).where(chat_message.c.id == chosen)
    values = {"attempts": chat_message.c.attempts + 1, "next_time": sa.func.now() + lease}
    return await _MESSAGE.one_or_none(connection, claimed.values(values).returning(*_MESSAGE.columns))


async def end(connection: Connection, claimed: ChatMessage, fault: str | None) -> None:
    """Finish a message: sent, or given up with a ``fault``."""
    state = "sent" if fault is None else "given_up"
    which = sa.and_(chat_message.c.id == claimed.id, _WAITING)
    values = {"state": state, "fault": fault, "end_time": sa.func.now()}
    await connection.execute(sa.update(chat_message).where(which).values(values))


async def defer(connection: Connection, claimed: ChatMessage, fault: str, after: float | None = None) -> None:
    """Defer a message, and all due ones of its destination, to the next attempt.

    ``after`` is the wait that the receiver asked for, in seconds; it counts up to ``LONGEST_RETRY``.
    """
    failed = claimed.attempts - 1
    wait = min(FIRST_RETRY * 2 ** min(failed, _DOUBLINGS), LONGEST_RETRY)
    if after is not None:
        wait = max(wait, min(timedelta(seconds=after), LONGEST_RETRY))
    own = sa.and_(chat_message.c.id == claimed.id, chat_message.c.attempts == claimed.attempts, _WAITING)
    others = sa.and_(_DUE, chat_message.c.destination == claimed.destination)
    next_time = sa.func.now() + wait
    await connection.execute(sa.update(chat_message).where(own).values(fault=fault, next_time=next_time))
    await connection.execute(sa.update(chat_message).where(others).values(next_time=next_time))


async def give_up(connection: Connection, names: Collection[str]) -> int:
    """Give up due messages older than ``TRIED_FOR``, and those to none of ``names``; return their number."""
    old = chat_message.c.create_time < past() - TRIED_FOR
    unknown = chat_message.c.destination.not_in(names)
    reason = sa.case(
        (unknown, str(sentence("undelivered_without_destination"))),
        else_=sa.func.coalesce(chat_message.c.fault, str(sentence("undelivered_by_any_process"))),
    )
    ended: dict[str, Any] = {"state": "given_up", "fault": reason, "end_time": sa.func.now()}
    given_up = sa.update(chat_message).where(_DUE, sa.or_(old, unknown)).values(ended)
    return (await connection.execute(given_up)).rowcount


async def give_up_restored(connection: Connection) -> int:
    """Give up all waiting messages of a backup, and return their number; the port ``restored``."""
    fault = str(sentence("undelivered_since_backup"))
    ended: dict[str, Any] = {"state": "given_up", "fault": fault, "end_time": sa.func.now()}
    return (await connection.execute(sa.update(chat_message).where(_WAITING).values(ended))).rowcount


async def forget_ended(connection: Connection) -> None:
    """Delete messages finished ``KEPT`` ago."""
    await connection.execute(sa.delete(chat_message).where(_is_over()))


async def standings(connection: Connection) -> dict[str, Standing]:
    """Return the state of each destination that has messages, by name."""
    columns = chat_message.c
    count = sa.func.count()
    age = sa.func.extract("epoch", sa.func.now() - sa.func.min(columns.create_time).filter(_WAITING))
    sent = sa.func.max(columns.create_time).filter(columns.state == "sent")
    grouped = sa.select(
        columns.destination,
        count.filter(_WAITING),
        count.filter(columns.state == "sent"),
        count.filter(columns.state == "given_up"),
        sa.func.coalesce(age, 0.0),
        sent,
    ).group_by(columns.destination)
    stood = {}
    for name, waiting, done, given_up, oldest, last_sent in (await connection.execute(grouped)).all():
        failed = sa.select(columns.fault).where(
            columns.destination == name, columns.fault.is_not(None), columns.state != "sent"
        )
        if last_sent is not None:
            failed = failed.where(columns.create_time > last_sent)
        fault = await connection.scalar(failed.order_by(columns.id.desc()).limit(1))
        stood[name] = Standing(name, waiting, done, given_up, float(oldest), fault)
    return stood


def _is_over() -> sa.ColumnElement[bool]:
    return sa.and_(~_WAITING, chat_message.c.end_time < past() - KEPT)
