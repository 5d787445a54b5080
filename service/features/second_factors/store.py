"""``sys.user_factor`` and ``sys.recovery_code``: the data to check second factors.

A factor counts once it is confirmed. An act that may happen only once is one statement: of several requests,
only the first one changes the row.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from operator import itemgetter
from typing import Any, Final

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import insert as insert_or

from service.records.database.row_mapper import PreparedSelect, RowMapper, Source
from service.records.database.transactions import Connection
from service.records.factors import Factor, FactorKind, has_any
from service.records.schema.rights import recovery_code, user_factor

PENDING: Final = timedelta(minutes=10)
"""The time in which a new app must show its first code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """An authenticator app; its secret is encrypted."""

    id: int
    user_id: int
    sealed_secret: bytes = field(repr=False)


class StoredPasskey(Struct, frozen=True, kw_only=True):
    """The data kept of a passkey to check its assertions.

    ``credential`` is the attested credential data of WebAuthn §6.5.1, with id and public key. ``user_handle``
    stands for the user without any information about the user.
    """

    credential_id: bytes
    credential: bytes
    user_handle: bytes
    backup_eligible: bool
    transports: tuple[str, ...] = ()


class Passkey(StoredPasskey, frozen=True, kw_only=True):
    """A passkey of a user."""

    id: int
    user_id: int


_FACTOR: Final = RowMapper(Factor, user_factor)
_APP: Final = RowMapper(App, user_factor)
_PASSKEY: Final = RowMapper(Passkey, user_factor)
_CONFIRMED: Final = user_factor.c.confirm_time.is_not(None)
_OF_USER: Final = user_factor.c.user_id == sa.bindparam("user_id", type_=sa.BigInteger())
_APPS: Final = PreparedSelect(
    _APP.select.where(_OF_USER, _CONFIRMED, user_factor.c.kind == "totp").order_by(user_factor.c.id),
    _APP.of_values,
)
_IS_THERE: Final = PreparedSelect(
    sa.select(user_factor.c.id).where(
        _OF_USER, _CONFIRMED, user_factor.c.id == sa.bindparam("factor_id", type_=sa.BigInteger())
    ),
    itemgetter(0),
)
_PASSKEYS: Final = _PASSKEY.select.where(user_factor.c.kind == "passkey")
_CREDENTIAL_ID: Final = user_factor.c.credential_id == sa.bindparam("credential_id", type_=sa.LargeBinary())
_LEFT: Final = sa.exists().where(recovery_code.c.factor_id == user_factor.c.id)
_KINDS: Final = PreparedSelect(
    sa.select(user_factor.c.kind)
    .where(_OF_USER, _CONFIRMED, sa.or_(user_factor.c.kind != "recovery_codes", _LEFT))
    .distinct(),
    itemgetter(0),
)


async def kinds(source: Source, user_id: int) -> frozenset[FactorKind]:
    """Return the kinds of a user's confirmed factors; recovery codes only while some are left."""
    return frozenset(await _KINDS.all(source, user_id=user_id))


async def is_there(source: Source, user_id: int, factor_id: int) -> bool:
    """Return whether the user has that confirmed factor, or that set of recovery codes."""
    return bool(await _IS_THERE.all(source, user_id=user_id, factor_id=factor_id))


async def add_pending(connection: Connection, user_id: int, name: str, sealed_secret: bytes) -> int:
    """Store an app that waits for its first code, replacing a waiting one; return its id."""
    await connection.execute(sa.delete(user_factor).where(_of(user_id), ~_CONFIRMED))
    new = sa.insert(user_factor).values(
        user_id=user_id, kind="totp", factor_name=name, sealed_secret=sealed_secret
    )
    return int((await connection.execute(new.returning(user_factor.c.id))).scalar_one())


async def pending(connection: Connection, user_id: int, factor_id: int) -> App | None:
    """Return an app of the user that waits for its first code; None if there is none."""
    since = sa.func.now() - sa.bindparam("life", PENDING, sa.Interval())
    statement = _APP.select.where(
        user_factor.c.id == factor_id, _of(user_id), ~_CONFIRMED, user_factor.c.create_time > since
    )
    return await _APP.one_or_none(connection, statement)


async def confirm(connection: Connection, app: App, step: int) -> Factor | None:
    """Make an app a factor, and mark its code of ``step`` as used; None if another request did."""
    statement = (
        sa.update(user_factor)
        .where(user_factor.c.id == app.id, ~_CONFIRMED)
        .values(confirm_time=sa.func.now(), last_used_time=sa.func.now(), last_step=step)
    )
    return await _FACTOR.one_or_none(connection, statement.returning(*_FACTOR.columns))


async def apps(source: Source, user_id: int) -> list[App]:
    """Return the confirmed apps of a user, the oldest first."""
    return await _APPS.all(source, user_id=user_id)


async def use_app(connection: Connection, app: App, step: int) -> bool:
    """Use the code of ``step``; False if it, or a later one, was used before."""
    unused = sa.or_(user_factor.c.last_step.is_(None), user_factor.c.last_step < step)
    return await _used(connection, app.id, unused, last_step=step)


async def add_passkey(
    connection: Connection, user_id: int, name: str, passkey: StoredPasskey, sign_count: int
) -> Factor | None:
    """Write a passkey; return None if the same passkey exists already, for any user."""
    new = insert_or(user_factor).values(
        user_id=user_id,
        kind="passkey",
        factor_name=name,
        confirm_time=sa.func.now(),
        credential_id=passkey.credential_id,
        credential=passkey.credential,
        user_handle=passkey.user_handle,
        sign_count=sign_count,
        backup_eligible=passkey.backup_eligible,
        transports=list(passkey.transports),
    )
    only_new = new.on_conflict_do_nothing(index_elements=[user_factor.c.credential_id])
    return await _FACTOR.one_or_none(connection, only_new.returning(*_FACTOR.columns))


async def passkeys(connection: Connection, user_id: int) -> list[Passkey]:
    """Return the passkeys of a user, the oldest first."""
    return await _PASSKEY.all(connection, _PASSKEYS.where(_of(user_id)).order_by(user_factor.c.id))


async def passkey(connection: Connection, credential_id: bytes) -> Passkey | None:
    """Return the passkey with that id, of any user; None if there is none."""
    return await _PASSKEY.one_or_none(
        connection, _PASSKEYS.where(_CREDENTIAL_ID), {"credential_id": credential_id}
    )


async def use_passkey(connection: Connection, factor: Passkey, sign_count: int) -> bool:
    """Store the counter of an assertion; return False if it decreased (WebAuthn §6.1.1).

    An authenticator without a counter always sends 0: 0 after 0 is no decrease.
    """
    forward = user_factor.c.sign_count < sign_count
    if sign_count == 0:
        forward = user_factor.c.sign_count == 0
    return await _used(connection, factor.id, forward, sign_count=sign_count)


async def set_recovery_codes(
    connection: Connection, user_id: int, name: str, digests: Collection[bytes]
) -> Factor:
    """Store a set of recovery codes that replaces the old one; the user must be locked."""
    of_codes = user_factor.c.kind == "recovery_codes"
    await connection.execute(sa.delete(user_factor).where(_of(user_id), of_codes))
    new = sa.insert(user_factor).values(
        user_id=user_id, kind="recovery_codes", factor_name=name, confirm_time=sa.func.now()
    )
    factor = await _FACTOR.returned(connection, new.returning(*_FACTOR.columns))
    rows = [{"factor_id": factor.id, "digest": digest} for digest in digests]
    await connection.execute(sa.insert(recovery_code), rows)
    return factor


async def use_recovery_code(connection: Connection, user_id: int, digest: bytes) -> int | None:
    """Use up a recovery code; return the id of its set, None if the user has no such code."""
    used = (
        sa.delete(recovery_code)
        .where(
            recovery_code.c.digest == digest,
            recovery_code.c.factor_id == user_factor.c.id,
            _of(user_id),
        )
        .returning(recovery_code.c.factor_id)
    )
    factor_id: int | None = (await connection.execute(used)).scalar_one_or_none()
    if factor_id is not None:
        noted = sa.update(user_factor).where(user_factor.c.id == factor_id)
        await connection.execute(noted.values(last_used_time=sa.func.now()))
    return factor_id


async def remove(connection: Connection, user_id: int, factor_id: int) -> Factor | None:
    """Delete a confirmed factor of the user, and with the last one the recovery codes; None if not found.

    The user must be locked.
    """
    gone = sa.delete(user_factor).where(user_factor.c.id == factor_id, _of(user_id), _CONFIRMED)
    factor = await _FACTOR.one_or_none(connection, gone.returning(*_FACTOR.columns))
    if factor is not None and not await has_any(connection, user_id):
        await connection.execute(sa.delete(user_factor).where(_of(user_id)))
    return factor


async def sealed_with_others(connection: Connection, key_id: bytes, *, after: int, most: int) -> list[App]:
    """Return, and lock, at most ``most`` apps whose secrets are sealed with another key than ``key_id``.

    By id, and only those with a greater id than ``after``. Apps that are in use just then are left out.
    """
    other = sa.func.substr(user_factor.c.sealed_secret, 1, len(key_id)) != key_id
    of_apps = _APP.select.where(user_factor.c.kind == "totp", user_factor.c.id > after, other)
    statement = of_apps.order_by(user_factor.c.id).limit(most).with_for_update(skip_locked=True)
    return await _APP.all(connection, statement)


async def count_by_key(connection: Connection, id_bytes: int) -> dict[bytes, int]:
    """Return the number of secrets sealed by each key, by key id: the first ``id_bytes`` of a secret."""
    key_id = sa.func.substr(user_factor.c.sealed_secret, 1, id_bytes)
    counted = sa.select(key_id, sa.func.count()).where(user_factor.c.kind == "totp").group_by(key_id)
    return {bytes(sealed_by): count for sealed_by, count in await connection.execute(counted)}


async def reseal(connection: Connection, app: App, sealed_secret: bytes) -> None:
    """Store the secret of an app sealed with another key."""
    statement = sa.update(user_factor).where(user_factor.c.id == app.id)
    await connection.execute(statement.values(sealed_secret=sealed_secret))


def _of(user_id: int) -> sa.ColumnElement[bool]:
    return user_factor.c.user_id == user_id


async def _used(
    connection: Connection, factor_id: int, unused: sa.ColumnElement[bool], **values: Any
) -> bool:
    statement = sa.update(user_factor).where(user_factor.c.id == factor_id, _CONFIRMED, unused)
    changed = await connection.execute(statement.values(last_used_time=sa.func.now(), **values))
    return changed.rowcount == 1
