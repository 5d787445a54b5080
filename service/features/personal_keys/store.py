"""``sys.api_key``: the keys of people, their use and their end."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import ARRAY, Interval, Text, and_, bindparam, cast, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import INET

from service.features.service_accounts.store_holders import USE_EVERY
from service.records import factors
from service.records.database.transactions import Connection
from service.records.schema.rights import api_key, user

REMIND: Final = timedelta(days=7)
"""The remaining lifetime at which the owner of a key is notified of its expiry."""


class UsedElsewhere(NamedTuple):
    """A key that was used from a network for the first time, and its owner."""

    key_name: str
    user_id: int
    address: str


class EndingKey(NamedTuple):
    """A key that expires soon, and its owner."""

    key_id: int
    key_name: str
    user_id: int
    expire_time: datetime


class LostKey(NamedTuple):
    """A deleted key, its owner and creator, and the kind of the owner."""

    key_id: int
    key_name: str
    user_id: int
    user_name: str
    kind: str
    created_by: int


async def end_with_sessions(connection: Connection, user_id: int) -> None:
    """Delete all keys of a person, whose sessions all end. A service account's keys stay.

    The sessions end before the commit: a creation that waits here finds none.
    """
    await factors.lock(connection, user_id)
    of_person = select(user.c.id).where(user.c.id == user_id, user.c.kind == "person")
    await connection.execute(delete(api_key).where(api_key.c.user_id.in_(of_person)))


async def note_use(
    connection: Connection, key_id: int, address: str | None, network: str | None
) -> UsedElsewhere | None:
    """Record a use of a key from an address and its network; None for unknown ones.

    Return the key and its owner if the network is new.
    """
    values: dict[str, object] = {"last_use_time": func.now()}
    of_key = api_key.c.id == key_id
    if address is None or network is None:
        every = bindparam("every", timedelta(seconds=USE_EVERY), Interval())
        due = or_(api_key.c.last_use_time.is_(None), api_key.c.last_use_time <= func.now() - every)
        await connection.execute(update(api_key).where(of_key, due).values(values))
        return None
    values["last_use_ip"] = cast(address, INET)
    known = select(api_key.c.key_name, api_key.c.user_id, api_key.c.networks).where(of_key).with_for_update()
    row = (await connection.execute(known)).first()
    if row is None:
        return None
    if network in row.networks:
        used = None
    else:
        used = UsedElsewhere(row.key_name, row.user_id, address)
        values["networks"] = cast([*row.networks, network][-MOST_NETWORKS:], ARRAY(Text))
    await connection.execute(update(api_key).where(of_key).values(values))
    return used


MOST_NETWORKS: Final = 100
"""The number of networks that are kept of a key; the oldest is forgotten first."""


async def to_remind(connection: Connection, most: int) -> list[EndingKey]:
    """Mark at most ``most`` keys of people that expire within ``REMIND``, and return them.

    A key that was made for a shorter time is left out: its owner knows.
    """
    remind = bindparam("remind", REMIND, Interval())
    due = and_(
        api_key.c.remind_time.is_(None),
        api_key.c.expire_time.between(func.now(), func.now() + remind),
        api_key.c.expire_time - api_key.c.create_time > remind,
        user.c.kind == "person",
        user.c.status == "enabled",
    )
    chosen = (
        select(api_key.c.id)
        .join(user, user.c.id == api_key.c.user_id)
        .where(due)
        .order_by(api_key.c.id)
        .limit(most)
        .with_for_update(of=api_key, skip_locked=True)
    )
    columns = (api_key.c.id, api_key.c.key_name, api_key.c.user_id, api_key.c.expire_time)
    marked = update(api_key).where(api_key.c.id.in_(chosen)).values(remind_time=func.now())
    return [EndingKey(*row) for row in await connection.execute(marked.returning(*columns))]


async def lose(connection: Connection, key_id: int, digests: Collection[bytes]) -> LostKey | None:
    """Delete the key with one of these digests, of whichever account, and return it; None without one."""
    named = (api_key.c.key_name, user.c.id, user.c.user_name, user.c.kind, api_key.c.created_by)
    gone = (
        delete(api_key)
        .where(api_key.c.id == key_id, api_key.c.digest.in_(digests), user.c.id == api_key.c.user_id)
        .returning(api_key.c.id, *named)
    )
    row = (await connection.execute(gone)).first()
    return None if row is None else LostKey(*row)
