"""Users with a second factor: ``sys.user_factor``, as the whole service reads it.

The callers enrol and verify factors.
"""

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

import sqlalchemy as sa
from msgspec import Meta, Struct
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.value_rules import Id
from service.records.database.row_mapper import RowMapper
from service.records.schema.rights import user, user_factor

FactorKind: TypeAlias = Literal["totp", "passkey", "recovery_codes"]
"""An authenticator app, a passkey, or a set of recovery codes, which is no factor by itself."""
FactorName = Annotated[str, Meta(min_length=1, max_length=64, examples=["My phone"])]


class Factor(Struct, frozen=True, kw_only=True):
    """A confirmed factor as its user sees it."""

    id: Id
    kind: FactorKind
    factor_name: FactorName
    create_time: datetime
    last_used_time: datetime | None


_FACTOR: Final = RowMapper(Factor, user_factor)
_CONFIRMED: Final = user_factor.c.confirm_time.is_not(None)


def has_factor(user_id: sa.ColumnElement[int], acr: Literal["mfa", "phr"] = "mfa") -> sa.ColumnElement[bool]:
    """Return the SQL of whether a user has a factor as strong as ``acr``; recovery codes alone are none."""
    kinds: tuple[FactorKind, ...] = ("passkey",) if acr == "phr" else ("totp", "passkey")
    of_kinds = sa.or_(*(user_factor.c.kind == kind for kind in kinds))
    return sa.exists().where(user_factor.c.user_id == user_id, _CONFIRMED, of_kinds)


async def lock(connection: AsyncConnection, user_id: int) -> None:
    """Lock a user until the transaction ends: other changes of factors, API keys and delegations wait."""
    await connection.execute(sa.select(user.c.id).where(user.c.id == user_id).with_for_update(key_share=True))


async def of_user(connection: AsyncConnection, user_id: int) -> list[Factor]:
    """Return the confirmed factors of a user, the oldest first, with the set of recovery codes."""
    return await _FACTOR.where(connection, _of(user_id), _CONFIRMED, order=user_factor.c.id)


async def has_any(connection: AsyncConnection, user_id: int, acr: Literal["mfa", "phr"] = "mfa") -> bool:
    """Return whether the user has a second factor as strong as ``acr``."""
    return bool(
        (
            await connection.execute(sa.select(has_factor(sa.bindparam("of", user_id, sa.BigInteger()), acr)))
        ).scalar_one()
    )


async def remove_all(connection: AsyncConnection, user_id: int) -> list[Factor]:
    """Delete all factors of a user, pending ones too; return the confirmed ones."""
    factors = await of_user(connection, user_id)
    await connection.execute(sa.delete(user_factor).where(_of(user_id)))
    return factors


def _of(user_id: int) -> sa.ColumnElement[bool]:
    return user_factor.c.user_id == user_id
