"""``sys.api_key``: the keys of service accounts, without their secrets."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Annotated, Final

from msgspec import Meta, Struct
from sqlalchemy import Interval, bindparam, delete, func, insert

from service.kernel.identity import Target
from service.kernel.value_rules import Id
from service.records import bans
from service.records.database.portions import delete_some
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.rights import api_key, user


class StoredKey(Struct, frozen=True, kw_only=True):
    """The displayable data of a key; ``scopes`` None means all codes of the account."""

    id: Id
    user_id: int
    key_name: Annotated[str, Meta(examples=["nightly job"])]
    hint: str
    scopes: tuple[str, ...] | None
    expire_time: datetime | None
    last_use_time: Annotated[
        datetime | None, Meta(description="Noted at most once a minute; null before the first use.")
    ]
    last_use_ip: Annotated[
        str | None,
        Meta(description="The address of the last use of a person's key.", examples=["203.0.113.7"]),
    ]
    created_by: Id
    create_time: datetime
    needed_codes: tuple[str, ...] | None


class ExpiringKey(Struct, frozen=True, kw_only=True):
    """An expiring key, with the id and the name of its account."""

    id: int
    key_name: str
    user_id: int
    user_name: str
    expire_time: datetime


STORED: Final = RowMapper(StoredKey, api_key, last_use_ip=func.host(api_key.c.last_use_ip))
"""Reads the displayable data of keys."""
_EXPIRING: Final = RowMapper(ExpiringKey, api_key, user_name=user.c.user_name)


async def add(
    connection: Connection,
    target: Target,
    *,
    key_name: str,
    hint: str,
    digest: bytes,
    scopes: Collection[str] | None,
    seconds: int | None,
    created_by: int,
    network: str | None = None,
    needed_codes: Collection[str] | None = None,
) -> StoredKey:
    """Store a key that expires in ``seconds``, or never (None); ``hint`` and ``digest`` are of its secret.

    ``network`` is the one that a person's key is made from, None for an unknown one. ``needed_codes`` are
    recorded from now on, unless None.
    """
    new = insert(api_key).values(
        user_id=target.user_id,
        key_name=key_name,
        hint=hint,
        digest=digest,
        scopes=None if scopes is None else list(scopes),
        expire_time=bans.end_after(seconds),
        created_by=created_by,
        networks=[] if network is None else [network],
        needed_codes=None if needed_codes is None else list(needed_codes),
    )
    return await STORED.returned(connection, new.returning(*STORED.columns))


async def of_user(connection: Connection, user_id: int) -> list[StoredKey]:
    """Return the keys of an account, the oldest first, including expired ones."""
    return await STORED.where(connection, api_key.c.user_id == user_id, order=api_key.c.id)


async def remove(connection: Connection, target: Target, key_id: int) -> StoredKey | None:
    """Delete a key of that account and return it; None if there is no such key."""
    gone = delete(api_key).where(api_key.c.id == key_id, api_key.c.user_id == target.user_id)
    return await STORED.one_or_none(connection, gone.returning(*STORED.columns))


async def forget_expired(connection: Connection, kept: timedelta, most: int) -> int:
    """Delete at most ``most`` keys that expired longer than ``kept`` ago; return their number."""
    expired = api_key.c.expire_time < func.now() - bindparam("kept", kept, Interval())
    return await delete_some(connection, api_key, expired, most)


async def expiring(connection: Connection, within: timedelta) -> list[ExpiringKey]:
    """Return the keys of enabled service accounts that expire ``within`` that time, the soonest first."""
    soon = api_key.c.expire_time.between(func.now(), func.now() + bindparam("within", within, Interval()))
    of_accounts = api_key.join(user, user.c.id == api_key.c.user_id)
    statement = _EXPIRING.select.select_from(of_accounts).where(
        soon, user.c.status == "enabled", user.c.kind == "service"
    )
    return await _EXPIRING.all(connection, statement.order_by(api_key.c.expire_time, api_key.c.id))
