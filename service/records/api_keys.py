"""``sys.api_key``: the keys of service accounts, without their secrets."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final

from sqlalchemy import BigInteger, Interval, bindparam, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.identity import Target
from service.records import assignments, bans, role_rights
from service.records.assignments import AT
from service.records.database.row_mapper import PreparedSelect, RowMapper, Source
from service.records.role_rights import Rights
from service.records.schema.rights import api_key, user, user_ban
from service.records.user_list import Status, UserNames

USE_EVERY: Final = 60
"""Seconds between two notes that a key was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """A key as it may be shown; ``scopes`` None means all that the account holds."""

    id: int
    user_id: int
    key_name: str
    hint: str
    scopes: tuple[str, ...] | None
    expire_time: datetime | None
    last_use_time: datetime | None
    created_by: int
    create_time: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHolder(UserNames):
    """What a request with a key needs to know about key and account.

    ``banned_until`` is None for a ban without end.
    """

    key_id: int
    digest: bytes = field(repr=False)
    scopes: tuple[str, ...] | None
    expire_time: datetime | None
    user_id: int
    service: str | None
    status: Status
    banned: bool
    banned_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiringKey:
    """A key that will expire, with the id and the name of its account."""

    id: int
    key_name: str
    user_id: int
    user_name: str
    expire_time: datetime


_STORED: Final = RowMapper(StoredKey, api_key)
_EXPIRING: Final = RowMapper(ExpiringKey, api_key, user_name=user.c.user_name)
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
    select(_ROLES, _PERMISSIONS, assignments.changes_at(user.c.id, AT), *_HOLDER.columns)
    .select_from(bans.with_bans().join(api_key, api_key.c.user_id == user.c.id))
    .where(api_key.c.id == _KEY_ID, user.c.kind == "service"),
    lambda row: (_HOLDER.of_values(row[3:]), Rights(tuple(row[0]), tuple(row[1]), row[2])),
)


async def add(
    connection: AsyncConnection,
    target: Target,
    *,
    key_name: str,
    hint: str,
    digest: bytes,
    scopes: Collection[str] | None,
    seconds: int | None,
    created_by: int,
) -> StoredKey:
    """Write a key that expires in ``seconds``, or never (None); ``hint`` and ``digest`` are of its secret."""
    new = insert(api_key).values(
        user_id=target.user_id,
        key_name=key_name,
        hint=hint,
        digest=digest,
        scopes=None if scopes is None else list(scopes),
        expire_time=bans.end_after(seconds),
        created_by=created_by,
    )
    return await _STORED.returned(connection, new.returning(*_STORED.columns))


async def of_user(connection: AsyncConnection, user_id: int) -> list[StoredKey]:
    """Return the keys of an account, the oldest first, expired ones too."""
    mine = select(*_STORED.columns).where(api_key.c.user_id == user_id)
    return await _STORED.all(connection, mine.order_by(api_key.c.id))


async def remove(connection: AsyncConnection, target: Target, key_id: int) -> StoredKey | None:
    """Delete a key of that account; returns it, or None if there is no such key."""
    gone = delete(api_key).where(api_key.c.id == key_id, api_key.c.user_id == target.user_id)
    return await _STORED.one_or_none(connection, gone.returning(*_STORED.columns))


async def owner(source: Source, key_id: int) -> int | None:
    """Return the id of the account that the key belongs to, which never changes; None for an unknown key."""
    return await _OWNER_BY_ID.one_or_none(source, key_id=key_id)


async def maker(connection: AsyncConnection, key_id: int) -> int | None:
    """Return the id of the user who has made a key; None for an unknown key."""
    made_by = select(api_key.c.created_by).where(api_key.c.id == key_id)
    return (await connection.execute(made_by)).scalar_one_or_none()


async def holder(source: Source, key_id: int, at: datetime | None = None) -> tuple[KeyHolder, Rights] | None:
    """Return the account of a key with its stored rights at the instant ``at``; None for an unknown key."""
    return await _HOLDER_BY_ID.one_or_none(source, key_id=key_id, at=at)


async def note_uses(connection: AsyncConnection, key_ids: Collection[int]) -> None:
    """Note that the keys were used now, unless that was noted in the last ``USE_EVERY`` seconds."""
    before = func.now() - bindparam("every", timedelta(seconds=USE_EVERY), Interval())
    due = or_(api_key.c.last_use_time.is_(None), api_key.c.last_use_time <= before)
    used = update(api_key).where(api_key.c.id.in_(key_ids), due)
    await connection.execute(used.values(last_use_time=func.now()))


async def forget_expired(connection: AsyncConnection, kept: timedelta, most: int) -> int:
    """Delete at most ``most`` keys that expired longer than ``kept`` ago; return how many."""
    expired = api_key.c.expire_time < func.now() - bindparam("kept", kept, Interval())
    chosen = select(api_key.c.id).where(expired).limit(most).with_for_update(skip_locked=True)
    return (await connection.execute(delete(api_key).where(api_key.c.id.in_(chosen)))).rowcount


async def expiring(connection: AsyncConnection, within: timedelta) -> list[ExpiringKey]:
    """Return the keys of enabled accounts that expire ``within`` that time, the soonest first."""
    soon = api_key.c.expire_time.between(func.now(), func.now() + bindparam("within", within, Interval()))
    of_accounts = api_key.join(user, user.c.id == api_key.c.user_id)
    statement = select(*_EXPIRING.columns).select_from(of_accounts).where(soon, user.c.status == "enabled")
    return await _EXPIRING.all(connection, statement.order_by(api_key.c.expire_time, api_key.c.id))
