"""``sys.api_key``: the accounts of keys, and the last use of keys."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final

from sqlalchemy import BigInteger, Interval, bindparam, func, or_, select, update

from service.kernel.identity import Kind
from service.records import assignments, bans, role_rights
from service.records.assignments import AT
from service.records.database.row_mapper import PreparedSelect, RowMapper, Source
from service.records.database.transactions import Connection
from service.records.role_rights import Rights
from service.records.schema.rights import api_key, user, user_ban
from service.records.user_list import Status, UserNames

USE_EVERY: Final = 60
"""Seconds between two records of a key's use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHolder(UserNames):
    """The data of key and account that a request with a key needs.

    ``banned_until`` is None for a ban without end.
    """

    key_id: int
    digest: bytes = field(repr=False)
    scopes: tuple[str, ...] | None
    expire_time: datetime | None
    user_id: int
    kind: Kind
    service: str | None
    status: Status
    banned: bool
    banned_until: datetime | None


_HOLDER: Final = RowMapper(
    KeyHolder,
    user,
    key_id=api_key.c.id,
    digest=api_key.c.digest,
    scopes=api_key.c.scopes,
    expire_time=api_key.c.expire_time,
    user_id=user.c.id,
    banned=user_ban.c.user_id.is_not(None),
    banned_until=user_ban.c.until,
)
_KEY_ID: Final = bindparam("key_id", type_=BigInteger())
_OWNER: Final = select(api_key.c.user_id).where(api_key.c.id == _KEY_ID)
_OWNER_BY_ID: Final = PreparedSelect(_OWNER, itemgetter(0))
_ROLES, _PERMISSIONS, _BITS = role_rights.columns_of(_OWNER.scalar_subquery())
_HOLDER_BY_ID: Final = PreparedSelect(
    select(
        _ROLES,
        _PERMISSIONS,
        assignments.changes_at(user.c.id, AT),
        role_rights.keys_barred(user.c.id),
        *_HOLDER.columns,
    )
    .select_from(bans.with_bans().join(api_key, api_key.c.user_id == user.c.id))
    .where(api_key.c.id == _KEY_ID),
    lambda row: (_HOLDER.of_values(row[4:]), Rights(tuple(row[0]), tuple(row[1]), row[2], row[3])),
)


async def owner(source: Source, key_id: int) -> int | None:
    """Return the id of a key's account, which never changes; None for an unknown key."""
    return await _OWNER_BY_ID.one_or_none(source, key_id=key_id)


async def holder(source: Source, key_id: int, at: datetime | None = None) -> tuple[KeyHolder, Rights] | None:
    """Return the account of a key with its stored rights at the instant ``at``; None for an unknown key."""
    return await _HOLDER_BY_ID.one_or_none(source, key_id=key_id, at=at)


async def note_uses(connection: Connection, key_ids: Collection[int]) -> None:
    """Record the use of the keys now, unless one was recorded in the last ``USE_EVERY`` seconds."""
    before = func.now() - bindparam("every", timedelta(seconds=USE_EVERY), Interval())
    due = or_(api_key.c.last_use_time.is_(None), api_key.c.last_use_time <= before)
    used = update(api_key).where(api_key.c.id.in_(key_ids), due)
    await connection.execute(used.values(last_use_time=func.now()))
