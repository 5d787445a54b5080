"""``sys.notice``: notices to users about their accounts; ``sys.known_device``: devices of their logins."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

import sqlalchemy as sa
from msgspec import Meta, Struct
from sqlalchemy.dialects.postgresql import insert as upsert

from service.features.notices.schema import known_device
from service.kernel.fields import values_of
from service.kernel.notify import ActedBy, Fact, NoticeKind
from service.records.database.filters import among
from service.records.database.paging import Page, page_of
from service.records.database.portions import delete_some
from service.records.database.row_mapper import PreparedSelect, RowMapper, Source
from service.records.database.transactions import Connection
from service.records.schema.base import past
from service.records.schema.of_users import notice
from service.records.schema.rights import user

KEPT: Final = timedelta(days=180)
"""The retention period of a notice."""
KNOWN: Final = timedelta(days=365)
"""The time for which a device is known after its last login."""


class NewNotice(Struct, frozen=True, kw_only=True):
    """A notice to the user ``user_id``; the client belongs to the user's own act, None for others' acts."""

    user_id: int
    kind: NoticeKind
    acted_by: ActedBy
    facts: Mapping[str, Fact]
    client_ip: Annotated[str, Meta(examples=["203.0.113.7"])] | None
    browser: Annotated[str, Meta(examples=["Firefox 145"])] | None
    os: Annotated[str, Meta(examples=["Linux"])] | None
    request_id: Annotated[str, Meta(examples=["8d5f0c39d1a2b4e7"])] | None


class Notice(NewNotice, frozen=True, kw_only=True):
    """A notice as its user sees it; ``read_time`` is None until it is marked."""

    id: int
    create_time: datetime
    read_time: Annotated[datetime | None, Meta(description="The time of reading; null for an unread notice.")]


class Told(Struct, frozen=True):
    """The recipient and time of a notice; ``email`` is the last address that the user has confirmed."""

    user_id: int
    user_name: str
    email: str | None
    create_time: datetime


_NOTICE: Final = RowMapper(Notice, notice)
_COLUMNS: Final = ("kind", "acted_by", "facts", "client_ip", "browser", "os", "request_id")
_LAST_SEEN: Final = PreparedSelect(
    sa.select(known_device.c.user_id).where(
        known_device.c.user_id == sa.bindparam("user_id", type_=sa.BigInteger()),
        known_device.c.digest == sa.bindparam("digest", type_=sa.LargeBinary()),
        known_device.c.last_time > sa.func.now() - sa.text("interval '1 day'"),
    ),
    bool,
)


async def add(connection: Connection, new: NewNotice) -> Told | None:
    """Write a notice and return its recipient; write nothing and return None if there is no such user."""
    return next(iter(await add_each(connection, new, [new.user_id])), None)


async def add_each(connection: Connection, new: NewNotice, user_ids: Collection[int]) -> list[Told]:
    """Write a notice like ``new`` for each user; return the recipients, without unknown users."""
    values = values_of(new)
    chosen = sa.select(user.c.id, *(sa.literal(values[name], notice.c[name].type) for name in _COLUMNS))
    rows = sa.insert(notice).from_select(
        ["user_id", *_COLUMNS], chosen.where(among(user.c.id, user_ids)).order_by(user.c.id)
    )
    written = rows.returning(notice.c.user_id, notice.c.create_time).cte("written")
    owners = sa.select(user.c.id, user.c.user_name, user.c.recovery_email, written.c.create_time)
    statement = owners.join(written, written.c.user_id == user.c.id).order_by(user.c.id)
    return [Told(*row) for row in await connection.execute(statement)]


async def notified_within(connection: Connection, user_id: int, kind: NoticeKind, ago: timedelta) -> bool:
    """Return whether a user got a notice of ``kind`` within the time ``ago``."""
    since = sa.func.now() - sa.bindparam("ago", ago, sa.Interval())
    earlier = sa.select(notice.c.id).where(notice.c.user_id == user_id, notice.c.kind == kind)
    return (
        await connection.execute(earlier.where(notice.c.create_time > since).limit(1))
    ).first() is not None


async def page(connection: Connection, user_id: int, *, page: int, size: int) -> Page[Notice]:
    """Return page ``page`` (from 1) of the notices of a user, the latest first."""
    own = _NOTICE.select.where(notice.c.user_id == user_id)
    return (await page_of(connection, own, page=page, size=size, order=(notice.c.id.desc(),))).of(_NOTICE)


async def unread(connection: Connection, user_id: int) -> int:
    """Return the number of a user's unread notices."""
    counted = sa.select(sa.func.count()).where(notice.c.user_id == user_id, notice.c.read_time.is_(None))
    return int((await connection.execute(counted)).scalar_one())


async def mark_read(connection: Connection, user_id: int, ids: Collection[int] | None) -> None:
    """Mark notices of a user as read: those of ``ids``, or all (None). Ids of other users have no effect."""
    marked = sa.update(notice).where(notice.c.user_id == user_id, notice.c.read_time.is_(None))
    if ids is not None:
        marked = marked.where(notice.c.id.in_(ids))
    await connection.execute(marked.values(read_time=sa.func.now()))


async def forget_old(connection: Connection, most: int) -> int:
    """Delete at most ``most`` notices older than ``KEPT``; return their number."""
    return await delete_some(connection, notice, notice.c.create_time < past() - KEPT, most)


async def is_known(source: Source, user_id: int, digest: bytes) -> bool:
    """Return whether a user has used a device within a day, so that no write is needed."""
    return bool(await _LAST_SEEN.all(source, user_id=user_id, digest=digest))


async def know(connection: Connection, user_id: int, digest: bytes) -> bool:
    """Store a login from a device; return True if it was unknown, once for concurrent logins."""
    row: Any = upsert(known_device).from_select(
        ["user_id", "digest"],
        sa.select(user.c.id, sa.literal(digest, sa.LargeBinary())).where(user.c.id == user_id),
    )
    seen = row.on_conflict_do_update(
        index_elements=[known_device.c.user_id, known_device.c.digest], set_={"last_time": sa.func.now()}
    )
    new = seen.returning(sa.literal_column("xmax = 0"))  # a row that was there before has an older version
    return bool((await connection.execute(new)).scalar_one_or_none())


async def forget_devices(connection: Connection, most: int) -> int:
    """Delete at most ``most`` devices last seen ``KNOWN`` ago; return their number."""
    return await delete_some(connection, known_device, known_device.c.last_time < past() - KNOWN, most)
