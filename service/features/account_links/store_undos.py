"""``sys.address_undo``: links that restore the former address, each mailed to that address."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, Interval, and_, bindparam, delete, func, insert, select

from service.features.account_links.schema import address_undo
from service.records.bans import in_force
from service.records.database.portions import delete_some
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.rights import user, user_ban

LASTS: Final = timedelta(days=1)
"""Time in which the former address can undo a change."""


@dataclass(frozen=True, slots=True)
class AddressUndo:
    """A valid link: its account, the former address, and the creation time."""

    user_id: int
    user_name: str
    email: str
    create_time: datetime


_UNDO: Final = RowMapper(AddressUndo, address_undo, user_name=user.c.user_name)


async def put(connection: Connection, user_id: int, digest: bytes, email: str) -> datetime:
    """Write a link to undo a change, mailed to ``email``; return its expiry. Older links remain valid."""
    ends = func.date_trunc("milliseconds", func.now() + bindparam("lasts", LASTS, Interval()))
    row = insert(address_undo).values(digest=digest, user_id=user_id, email=email, expires_time=ends)
    end: datetime = (await connection.execute(row.returning(address_undo.c.expires_time))).scalar_one()
    return end


async def find(connection: Connection, digest: bytes) -> AddressUndo | None:
    """Return the link if it is valid; otherwise None. Links of disabled or banned accounts are invalid."""
    known = select(*_UNDO.columns).join(user, user.c.id == address_undo.c.user_id)
    return await _UNDO.one_or_none(connection, known.where(_good(digest)))


async def spend(connection: Connection, digest: bytes) -> AddressUndo | None:
    """Delete a valid link and all later ones, and return it; otherwise return None.

    Later links were mailed to later addresses, which must not be restored. Earlier links remain valid.
    """
    gone = delete(address_undo).where(user.c.id == address_undo.c.user_id, _good(digest))
    spent = await _UNDO.one_or_none(connection, gone.returning(*_UNDO.columns))
    if spent is not None:
        later = (address_undo.c.user_id == spent.user_id) & (address_undo.c.create_time >= spent.create_time)
        await connection.execute(delete(address_undo).where(later))
    return spent


async def forget_expired(connection: Connection, most: int) -> int:
    """Delete at most ``most`` expired links; return their number."""
    return await delete_some(connection, address_undo, address_undo.c.expires_time < func.now(), most)


def _good(digest: bytes) -> ColumnElement[bool]:
    banned = select(user_ban.c.user_id).where(in_force())
    return and_(
        address_undo.c.digest == digest,
        address_undo.c.expires_time > func.clock_timestamp(),
        user.c.status == "enabled",
        user.c.id.not_in(banned),
    )
