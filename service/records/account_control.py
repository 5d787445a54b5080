"""``sys.account_control``: users' control of accounts, with the act and the time of the last one.

A row is written in the transaction of its act, and counts for a time: ``service.kernel.persons``.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.persons import MOST_TAKEOVER_DAYS, ControlAct, Edge
from service.records.database.portions import delete_some
from service.records.database.row_mapper import RowMapper
from service.records.schema.base import past
from service.records.schema.rights import account_control

_EDGE: Final = RowMapper(Edge, account_control, time=account_control.c.act_time)
_IDS: Final = sa.bindparam("ids", type_=sa.ARRAY(sa.BigInteger))
_SINCE: Final = sa.bindparam("since", type_=sa.DateTime(timezone=True))


def _leading() -> sa.Select[tuple[object, ...]]:
    """Return the statement that reads all edges on the ways to accounts; built once."""
    account = sa.func.unnest(_IDS).column_valued("account_id")
    known = sa.select(account.label("id")).cte("known", recursive=True)
    table = account_control.c
    live = (table.act_time > _SINCE) & table.end_time.is_(None)
    known = known.union(sa.select(table.holder_id).join(known, table.account_id == known.c.id).where(live))
    return _EDGE.select.where(table.account_id.in_(sa.select(known.c.id)), live)


_LEADING: Final = _leading()


async def write(
    connection: AsyncConnection, holder_ids: Collection[int], account_ids: Collection[int], act: ControlAct
) -> None:
    """Record that these holders gained control of these accounts, by an act at this moment."""
    rows = [
        {"holder_id": holder_id, "account_id": account_id, "act": act}
        for account_id in sorted({*account_ids})
        for holder_id in sorted({*holder_ids})
        if holder_id != account_id
    ]
    if not rows:
        return
    again = {"act_time": sa.func.now(), "end_time": None}
    written = upsert(account_control).on_conflict_do_update(
        constraint=account_control.primary_key, set_=again
    )
    await connection.execute(written, rows)


async def leading_to(
    connection: AsyncConnection, account_ids: Collection[int], since: datetime
) -> list[Edge]:
    """Return the edges after ``since`` that lead to these accounts, over any number of steps."""
    if not account_ids:
        return []
    rows = await connection.execute(_LEADING, {"ids": sorted({*account_ids}), "since": since})
    return [_EDGE.of(row) for row in rows]


async def end(connection: AsyncConnection, account_id: int, holder_ids: Collection[int]) -> None:
    """End what these holders have done to an account: another person has its account for sure."""
    table = account_control.c
    ended = (table.account_id == account_id) & table.holder_id.in_(list(holder_ids))
    await connection.execute(
        sa.update(account_control).where(ended, table.end_time.is_(None)).values(end_time=sa.func.now())
    )


async def forget_old(connection: AsyncConnection, most: int) -> int:
    """Delete at most ``most`` rows that count under no setting any more; return their number."""
    old = account_control.c.act_time < past() - sa.text(f"interval '{MOST_TAKEOVER_DAYS} days'")
    return await delete_some(connection, account_control, old, most)
