"""Bit positions of permission codes: given, retired, and given again once no token can mean the old code.

A position is free again when every token that could carry it has expired, and when no worker may still read
it as the code that it stood for: see decision 0022. ``give`` and ``retire`` need ``policy_revisions.lock``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import ColumnElement, Interval, case, delete, func, insert, select, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import RateLimited
from service.records.policy.workers import KEPT
from service.records.schema import menu, policy_revision, policy_worker, retired_bit, token_life

OF_USER: Final = 100
"""The most positions that wait to be free because of one user; with them no code can be changed or added."""
OF_ALL: Final = 2000
"""The same, because of all users together."""
UNCONFIRMED: Final = timedelta(hours=12)
"""How long a worker reads tokens by a permission map while it can't report that it has it."""
MARGIN: Final = timedelta(minutes=10)
"""For clocks that differ, and for logins that have read a position but not yet signed their token."""
_TOO_MANY: Final = "Too many permission codes were changed lately; Retry-After says when one more can be"
_LATELY: Final = timedelta(minutes=10)  # tokens of a life that was reported since are being issued now


async def report_life(connection: AsyncConnection, seconds: int) -> None:
    """Note that access tokens that live ``seconds`` are being issued; forget lives that have all ended."""
    row = upsert(token_life).values(seconds=seconds)
    await connection.execute(
        row.on_conflict_do_update(index_elements=[token_life.c.seconds], set_={"last_time": func.now()})
    )
    over = token_life.c.last_time + _seconds(token_life.c.seconds) + MARGIN < func.now()
    await connection.execute(delete(token_life).where(over))


async def give(connection: AsyncConnection, user_id: int) -> int:
    """Return a position for a code that ``user_id`` adds or changes: the lowest free one, else a new one.

    RateLimited, which says when it may be tried again, while too many positions wait to be free.
    """
    await _require_quota(connection, user_id)
    behind = (
        select(policy_worker.c.worker)
        .where(policy_worker.c.revision < retired_bit.c.revision)
        .where(policy_worker.c.seen_time > func.now() - KEPT)
    )
    free = (
        select(retired_bit.c.position)
        .where(retired_bit.c.free_time <= func.now(), ~behind.exists())
        .order_by(retired_bit.c.position)
        .limit(1)
    )
    given = delete(retired_bit).where(retired_bit.c.position.in_(free)).returning(retired_bit.c.position)
    position: int | None = (await connection.execute(given)).scalar_one_or_none()
    return await _new(connection) if position is None else position


async def retire(connection: AsyncConnection, position: int, user_id: int) -> None:
    """Note that ``position`` stands for no code any more, and until when tokens can carry it.

    The time is stored, since nobody knows later which lives tokens had now. The lives are those that workers
    have reported; the policy without the position is the next one to be published.
    """
    # Lives that were reported lately are given to tokens until this change is committed.
    last = case((token_life.c.last_time > func.now() - _LATELY, func.now()), else_=token_life.c.last_time)
    expiry = select(func.max(last + _seconds(token_life.c.seconds))).scalar_subquery()
    newest = select(func.coalesce(func.max(policy_revision.c.revision), 0) + 1).scalar_subquery()
    await connection.execute(
        insert(retired_bit).values(
            position=position,
            revision=newest,
            user_id=user_id,
            free_time=func.greatest(expiry, func.now() + UNCONFIRMED) + MARGIN,
        )
    )


@dataclass(frozen=True, slots=True)
class Positions:
    """The highest position that a Button has, and how many wait to be free; None without a Button."""

    highest: int | None
    waiting: int


async def overview(connection: AsyncConnection) -> Positions:
    """Return how high positions are, and how many wait."""
    highest = select(func.max(menu.c.bit_position)).scalar_subquery()
    waiting = select(func.count()).select_from(retired_bit).scalar_subquery()
    row = (await connection.execute(select(highest, waiting))).one()
    return Positions(row[0], row[1])


async def _require_quota(connection: AsyncConnection, user_id: int) -> None:
    """Return when few enough positions wait; RateLimited else. Those of earlier versions count for nobody."""
    mine = retired_bit.c.user_id == user_id
    wait = func.extract("epoch", func.min(retired_bit.c.free_time) - func.now())
    for whose, most in ((mine, OF_USER), (retired_bit.c.user_id.is_not(None), OF_ALL)):
        asked = select(func.count(), wait).where(retired_bit.c.free_time > func.now(), whose)
        waiting, seconds = (await connection.execute(asked)).one()
        if waiting >= most:
            raise RateLimited(int(seconds) + 1, "permission-codes", _TOO_MANY)


async def _new(connection: AsyncConnection) -> int:
    """Return a position that none has had; the sequence, which serves rows of others, goes on above it.

    Not by ``nextval``: it is not undone with the transaction, so that each refused change would use one up.
    """
    used = select(
        func.greatest(
            select(func.coalesce(func.max(menu.c.bit_position), -1)).scalar_subquery(),
            select(func.coalesce(func.max(retired_bit.c.position), -1)).scalar_subquery(),
        )
        + 1
    )
    position: int = (await connection.execute(used)).scalar_one()
    await connection.execute(
        text(
            "SELECT setval('sys.menu_bit_position_seq', :position)"
            " FROM sys.menu_bit_position_seq WHERE last_value <= :position"
        ),
        {"position": position},
    )
    return position


def _seconds(number: ColumnElement[int]) -> ColumnElement[timedelta]:
    return func.make_interval(0, 0, 0, 0, 0, 0, number, type_=Interval())
