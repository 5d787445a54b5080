"""Bit positions of permission codes: assigned, retired, and reused once no token has the old code.

A position is free again when every token that could carry it has expired. No worker may still read it as its
old code: see decision 0022. ``give`` and ``retire`` need ``policy_revisions.lock``.
"""

from datetime import timedelta
from typing import Final

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import RateLimited
from service.kernel.core_sentences import sentence
from service.records.published.policy_workers import KEPT
from service.records.schema.base import past
from service.records.schema.policy import policy_revision, policy_worker
from service.records.schema.rights import menu, retired_bit, token_life

OF_USER: Final = 100
"""The most retired positions of one user that are not free yet; above it that user can't change codes."""
OF_ALL: Final = 2000
"""The same for all users together."""
UNCONFIRMED: Final = timedelta(hours=12)
"""Time for which a worker uses a permission map without being able to report it."""
MARGIN: Final = timedelta(minutes=10)
"""For clocks that differ, and for logins that have read a position but not yet signed their token."""
_TOO_MANY: Final = sentence("too_many_permission_codes")
_LATELY: Final = timedelta(minutes=10)  # tokens with a life reported more recently are still being issued


async def report_life(connection: AsyncConnection, seconds: int) -> None:
    """Record that access tokens with this life are issued now; remove lives whose tokens have expired."""
    await connection.execute(_ISSUED, {"seconds": seconds})
    await connection.execute(_EXPIRED)


async def longest_life(connection: AsyncConnection) -> int:
    """Return the longest life, in seconds, of access tokens that may not have expired; 0 if unknown."""
    return int((await connection.execute(_LONGEST)).scalar_one())


async def give(connection: AsyncConnection, user_id: int | None) -> int:
    """Return a position for a code that ``user_id`` adds or changes: the lowest free one, else a new one.

    RateLimited, with the time of the next attempt, while too many positions are not free yet.
    """
    await _require_quota(connection, user_id)
    behind = (
        sa.select(policy_worker.c.worker)
        .where(policy_worker.c.revision < retired_bit.c.revision)
        .where(policy_worker.c.seen_time > sa.func.now() - KEPT)
    )
    free = (
        sa.select(retired_bit.c.position)
        .where(retired_bit.c.free_time <= past(), ~behind.exists())
        .order_by(retired_bit.c.position)
        .limit(1)
    )
    given = sa.delete(retired_bit).where(retired_bit.c.position.in_(free)).returning(retired_bit.c.position)
    position: int | None = (await connection.execute(given)).scalar_one_or_none()
    return await _new(connection) if position is None else position


async def retire(connection: AsyncConnection, first: int, user_id: int | None, *, count: int = 1) -> None:
    """Retire ``count`` positions from ``first`` on: they have no code any more.

    Stores until when tokens can carry them.

    The time is stored now, since it depends on the token lives that workers report now. The next policy
    revision to be published is the first one without the position.
    """
    # Tokens with a life that was reported lately are issued until this change is committed.
    last = sa.case(
        (token_life.c.last_time > sa.func.now() - _LATELY, sa.func.now()), else_=token_life.c.last_time
    )
    expiry = sa.select(sa.func.max(last + _seconds(token_life.c.seconds))).scalar_subquery()
    newest = sa.select(sa.func.coalesce(sa.func.max(policy_revision.c.revision), 0) + 1).scalar_subquery()
    positions = sa.func.generate_series(first, first + count - 1).column_valued("position")
    free = sa.func.greatest(expiry, sa.func.now() + UNCONFIRMED) + MARGIN
    rows = sa.select(positions, newest, sa.literal(user_id, sa.BigInteger), free)
    names = ["position", "revision", "user_id", "free_time"]
    await connection.execute(sa.insert(retired_bit).from_select(names, rows))


class Positions(Struct, frozen=True):
    """The highest position of a Button (None without Buttons), and the number of retired ones in wait."""

    highest: int | None
    waiting: int


async def overview(connection: AsyncConnection) -> Positions:
    """Return the highest position, and the number of retired ones."""
    highest = sa.select(sa.func.max(menu.c.bit_position)).scalar_subquery()
    waiting = sa.select(sa.func.count()).select_from(retired_bit).scalar_subquery()
    row = (await connection.execute(sa.select(highest, waiting))).one()
    return Positions(row[0], row[1])


async def _require_quota(connection: AsyncConnection, user_id: int | None) -> None:
    """Raise RateLimited if too many positions are not free yet; those without a user do not count."""
    if user_id is None:
        return
    mine, of_users = retired_bit.c.user_id == user_id, retired_bit.c.user_id.is_not(None)
    asked = sa.select(
        sa.func.count().filter(mine), _wait(mine), sa.func.count().filter(of_users), _wait(of_users)
    ).where(retired_bit.c.free_time > sa.func.now())
    own, own_wait, every, every_wait = (await connection.execute(asked)).one()
    for waiting, most, seconds in ((own, OF_USER, own_wait), (every, OF_ALL, every_wait)):
        if waiting >= most:
            raise RateLimited(int(seconds) + 1, "permission-codes", _TOO_MANY)


def _wait(whose: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    """Return the seconds until the first of these positions is free."""
    return sa.func.extract("epoch", sa.func.min(retired_bit.c.free_time).filter(whose) - sa.func.now())


async def unused(connection: AsyncConnection) -> int:
    """Return the lowest position above all that are in use or retired."""
    used = sa.select(
        sa.func.greatest(
            sa.select(sa.func.coalesce(sa.func.max(menu.c.bit_position), -1)).scalar_subquery(),
            sa.select(sa.func.coalesce(sa.func.max(retired_bit.c.position), -1)).scalar_subquery(),
        )
        + 1
    )
    return int((await connection.execute(used)).scalar_one())


async def _new(connection: AsyncConnection) -> int:
    """Return a position that was never used, and move the sequence, which other programs use, above it.

    Not by ``nextval``: a rollback does not undo it, so each refused change would use up a position.
    """
    position = await unused(connection)
    await connection.execute(
        sa.text(
            "SELECT setval('sys.menu_bit_position_seq', :position)"
            " FROM sys.menu_bit_position_seq WHERE last_value <= :position"
        ),
        {"position": position},
    )
    return position


def _seconds(number: sa.ColumnElement[int]) -> sa.ColumnElement[timedelta]:
    return sa.func.make_interval(0, 0, 0, 0, 0, 0, number, type_=sa.Interval())


# Each worker runs these every few seconds: they are built once.
_ISSUED: Final = (
    upsert(token_life)
    .values(seconds=sa.bindparam("seconds"))
    .on_conflict_do_update(index_elements=[token_life.c.seconds], set_={"last_time": sa.func.now()})
)
_LONGEST: Final = sa.select(sa.func.coalesce(sa.func.max(token_life.c.seconds), 0))
_EXPIRED: Final = sa.delete(token_life).where(
    token_life.c.last_time + _seconds(token_life.c.seconds) + MARGIN < sa.func.now()
)
