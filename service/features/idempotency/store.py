"""Kept answers: stored with their write, returned to its repetitions, and deleted after a day."""

import hashlib
from datetime import timedelta
from typing import Final

import msgspec
from msgspec import structs
from sqlalchemy import func, select, tuple_
from sqlalchemy.dialects.postgresql import insert as upsert

from service.features.idempotency.schema import idempotency_key
from service.kernel.fields import values_of
from service.kernel.write import KeyScope, SentAnswer
from service.records.database.portions import delete_some
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection

KEPT: Final = timedelta(hours=24)
"""The retention period of an answer."""


class KeptAnswer(SentAnswer, frozen=True):
    """A kept answer, with the fingerprint of its request."""

    fingerprint: str


_KEPT: Final = RowMapper(KeptAnswer, idempotency_key)
_KEY: Final = tuple(idempotency_key.primary_key)
_LIVE: Final = idempotency_key.c.create_time > func.now() - KEPT


async def claim(connection: Connection, scope: KeyScope) -> bool:
    """Claim the key until the transaction ends; False if another transaction has claimed it."""
    digest = hashlib.sha256(msgspec.json.encode(structs.astuple(scope))).digest()
    lock = int.from_bytes(digest[:8], signed=True)
    return bool((await connection.execute(select(func.pg_try_advisory_xact_lock(lock)))).scalar_one())


async def find(connection: Connection, scope: KeyScope) -> KeptAnswer | None:
    """Return the answer kept under the key; None if there is none or it has expired."""
    statement = _KEPT.select.where(tuple_(*_KEY) == structs.astuple(scope), _LIVE)
    return next(iter(await _KEPT.all(connection, statement)), None)


async def keep(connection: Connection, scope: KeyScope, fingerprint: str, sent: SentAnswer) -> None:
    """Store an answer under the key, replacing an expired one."""
    values = values_of(sent) | {"fingerprint": fingerprint}
    row = upsert(idempotency_key).values(**values_of(scope), **values)
    renewed = values | {"create_time": func.now()}
    await connection.execute(row.on_conflict_do_update(index_elements=_KEY, set_=renewed))


async def forget_expired(connection: Connection, most: int) -> int:
    """Delete at most ``most`` expired answers that are not in use; return their number."""
    return await delete_some(connection, idempotency_key, ~_LIVE, most)
