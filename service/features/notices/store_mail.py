"""``sys.mail``: the outbox. One sender claims a due mail, for as long as sending may take.

A claim is a number of attempts, so a sender with an older claim can't continue. The statement that ends a
mail also removes its link.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, TypeAlias

import sqlalchemy as sa
from msgspec import Meta, Struct

from service.features.notices.schema import mail
from service.features.notices.sentences import sentence
from service.kernel.value_rules import Id
from service.records.database.filters import equals, one_of
from service.records.database.paging import RecordList
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.base import past

MailState: TypeAlias = Literal["waiting", "sent", "given_up"]
TRIED_FOR: Final = timedelta(days=1)
"""The time for which sending a mail is retried."""
KEPT: Final = timedelta(days=7)
"""The time for which a finished mail is listed."""
TOLD_FOR: Final = timedelta(days=1)
"""The time for which operators see a given-up mail."""
FIRST_RETRY: Final = timedelta(seconds=30)
"""The wait after the first failed attempt; it doubles with each further attempt."""
LONGEST_RETRY: Final = timedelta(minutes=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMail:
    """A waiting mail; its link is encrypted, None without a link. Older versions know no ``language``."""

    message_id: str
    kind: str
    recipient: str
    user_id: int | None
    facts: Mapping[str, str]
    language: str | None
    sealed_link: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingMail(NewMail):
    """A claimed mail; ``attempts`` includes this attempt."""

    id: int
    attempts: int
    create_time: datetime


class GivenUp(Struct, frozen=True):
    """A given-up mail; ``fault`` is the reason of its last failure, None without an attempt."""

    id: int
    kind: str
    fault: str | None


class ListedMail(Struct, frozen=True):
    """A mail as operators see it: without its facts and its link."""

    id: Id
    message_id: Annotated[str, Meta(examples=["<2f1c4a52-7d0e-4a86-9c0b-51d1a7a0d3f5@example.com>"])]
    kind: Annotated[str, Meta(examples=["invitation"])]
    recipient: Annotated[str, Meta(examples=["heron@example.org"])]
    user_id: Id | None
    state: MailState
    attempts: int
    next_time: datetime
    create_time: datetime
    end_time: datetime | None
    fault: Annotated[str, Meta(examples=["RCPT: 550 5.1.1"])] | None


@dataclass(frozen=True, slots=True)
class MailFilter:
    """A filter of mails: states, kind, and the account that they are about."""

    state: Annotated[Collection[str] | None, one_of(mail.c.state)] = None
    kind: Annotated[str | None, equals(mail.c.kind)] = None
    user_id: Annotated[int | None, equals(mail.c.user_id)] = None


class MailStanding(Struct, frozen=True):
    """The numbers of waiting mails and of mails given up within ``TOLD_FOR``, and the oldest waiting age.

    The age is in seconds, 0 if no mail waits. ``refused`` counts failed mails, waiting ones included, that
    are younger than the last mail that the server took. ``fault`` is the fault of the youngest of them.
    """

    waiting: int
    given_up: int
    oldest: float
    refused: int
    fault: str | None


_WAITING: Final = RowMapper(WaitingMail, mail)
_LISTED: Final = RowMapper(ListedMail, mail)
SORTS: Final = {"id": mail.c.id}
"""The columns by which a list of mails can be sorted."""
page: Final = RecordList[ListedMail, MailFilter]("mail", _LISTED, _LISTED.select, SORTS, "-id").page
_GIVEN_UP: Final = RowMapper(GivenUp, mail)
_IS_WAITING: Final = mail.c.state == "waiting"
_IS_DUE: Final = sa.and_(_IS_WAITING, mail.c.next_time <= sa.func.now())
_DOUBLINGS: Final = 10  # more would not fit into an interval


async def add(connection: Connection, new: NewMail) -> None:
    await connection.execute(sa.insert(mail).values(asdict(new)))


async def pending(connection: Connection, *, sends: bool) -> bool:
    """Return whether a mail is due or too old; without ``sends`` only old mails count."""
    is_work = _IS_DUE if sends else sa.and_(_IS_DUE, _is_old())
    asked = sa.select(
        sa.or_(sa.exists().where(is_work), sa.exists().where(_is_over()))
    )  # each by an index of its own
    return bool(await connection.scalar(asked))


async def claim(connection: Connection, lease: timedelta) -> WaitingMail | None:
    """Claim the mail that has been due longest, for the time ``lease``; None if none is due."""
    due = sa.select(mail.c.id).where(_IS_DUE).order_by(mail.c.next_time, mail.c.id).limit(1)
    claimed = sa.update(mail).where(mail.c.id == due.with_for_update(skip_locked=True).scalar_subquery())
    values = {"attempts": mail.c.attempts + 1, "next_time": sa.func.now() + lease}
    return await _WAITING.one_or_none(connection, claimed.values(values).returning(*_WAITING.columns))


async def hold(connection: Connection, claimed: WaitingMail, lease: timedelta) -> bool:
    """Renew the time ``lease``; return False if the mail is finished or claimed by another sender."""
    held = sa.update(mail).where(_is(claimed)).values(next_time=sa.func.now() + lease)
    return (await connection.execute(held)).rowcount == 1


async def end(connection: Connection, claimed: WaitingMail, fault: str | None) -> None:
    """Finish a mail and remove its link: sent, or given up with a ``fault``."""
    state: MailState = "sent" if fault is None else "given_up"
    which = sa.and_(mail.c.id == claimed.id, _IS_WAITING)
    await connection.execute(sa.update(mail).where(which).values(_ended(state, fault)))


async def defer(connection: Connection, claimed: WaitingMail, fault: str, *, others: bool) -> None:
    """Defer a mail to its next attempt; with ``others`` also all due mails, as if they had failed."""
    own = sa.update(mail).where(_is(claimed)).values(fault=fault, next_time=_next_time(mail.c.attempts - 1))
    await connection.execute(own)
    if others:
        values = {"attempts": mail.c.attempts + 1, "next_time": _next_time(mail.c.attempts), "fault": fault}
        await connection.execute(sa.update(mail).where(_IS_DUE).values(values))


async def give_up_old(connection: Connection) -> list[GivenUp]:
    """Give up unclaimed mails that are older than ``TRIED_FOR``; return them."""
    old = sa.update(mail).where(_IS_DUE, _is_old()).values(_ended("given_up", mail.c.fault))
    return await _GIVEN_UP.all(connection, old.returning(*_GIVEN_UP.columns))


async def give_up_all(connection: Connection, fault: str) -> int:
    """Give up all waiting mails, and return their number."""
    return (
        await connection.execute(sa.update(mail).where(_IS_WAITING).values(_ended("given_up", fault)))
    ).rowcount


async def give_up_restored(connection: Connection) -> int:
    """Give up all waiting mails of a backup, and return their number; the port ``restored``."""
    return await give_up_all(connection, str(sentence("undelivered_since_backup")))


async def forget_ended(connection: Connection) -> None:
    """Delete mails finished ``KEPT`` ago."""
    await connection.execute(sa.delete(mail).where(_is_over()))


async def standing(connection: Connection) -> MailStanding:
    """Return the state of the outbox."""
    age = sa.func.coalesce(sa.func.extract("epoch", sa.func.now() - sa.func.min(mail.c.create_time)), 0.0)
    lately = sa.and_(mail.c.state == "given_up", mail.c.end_time > sa.func.now() - TOLD_FOR)
    given_up = sa.select(sa.func.count()).where(lately).scalar_subquery()
    row = (await connection.execute(sa.select(sa.func.count(), given_up, age).where(_IS_WAITING))).one()
    sent = (
        sa.select(mail.c.create_time).where(mail.c.state == "sent").order_by(mail.c.end_time.desc()).limit(1)
    )
    since = sa.func.greatest(sent.scalar_subquery(), sa.func.now() - TOLD_FOR)
    refused = sa.and_(mail.c.fault.is_not(None), mail.c.state != "sent", mail.c.create_time > since)
    youngest = sa.select(mail.c.fault).where(refused).order_by(mail.c.create_time.desc(), mail.c.id.desc())
    faults = (await connection.execute(youngest)).scalars().all()
    return MailStanding(row[0], row[1], float(row[2]), len(faults), faults[0] if faults else None)


async def sealed_with_others(
    connection: Connection, key_id: bytes, *, after: int, most: int
) -> list[WaitingMail]:
    """Return, and lock, at most ``most`` mails whose links are sealed with another key than ``key_id``.

    By id, and only those with a greater id than ``after``.
    """
    other = sa.func.substr(mail.c.sealed_link, 1, len(key_id)) != key_id
    statement = _WAITING.select.where(mail.c.id > after, other).order_by(mail.c.id).limit(most)
    return await _WAITING.all(connection, statement.with_for_update(skip_locked=True))


async def reseal(connection: Connection, mail_id: int, sealed_link: bytes) -> None:
    """Store the link of a mail sealed with another key."""
    await connection.execute(sa.update(mail).where(mail.c.id == mail_id).values(sealed_link=sealed_link))


async def count_by_key(connection: Connection, id_bytes: int) -> dict[bytes, int]:
    """Return the number of links sealed by each key, by key id: the first ``id_bytes`` of a sealed link."""
    key_id = sa.func.substr(mail.c.sealed_link, 1, id_bytes)
    counted = sa.select(key_id, sa.func.count()).where(mail.c.sealed_link.is_not(None)).group_by(key_id)
    return {bytes(sealed_by): count for sealed_by, count in await connection.execute(counted)}


def _is(claimed: WaitingMail) -> sa.ColumnElement[bool]:
    return sa.and_(mail.c.id == claimed.id, mail.c.attempts == claimed.attempts, _IS_WAITING)


def _is_old() -> sa.ColumnElement[bool]:
    return mail.c.create_time < past() - TRIED_FOR


def _is_over() -> sa.ColumnElement[bool]:
    return sa.and_(~_IS_WAITING, mail.c.end_time < past() - KEPT)


def _next_time(failed: sa.ColumnElement[int]) -> sa.ColumnElement[datetime]:
    """Return the SQL of the next attempt of a mail that had ``failed`` attempts before this one."""
    doubled = sa.cast(sa.func.power(2, sa.func.least(failed, _DOUBLINGS)), sa.Integer)
    return sa.func.now() + sa.func.least(FIRST_RETRY * doubled, LONGEST_RETRY)


def _ended(state: MailState, fault: Any) -> dict[str, Any]:
    return {"state": state, "fault": fault, "end_time": sa.func.now(), "sealed_link": sa.null()}
