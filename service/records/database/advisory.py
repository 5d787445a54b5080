"""Advisory locks of a transaction: waited for within its time limit, and told as what they are."""

from typing import Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

_SHARE: Final = 0.8
"""The part of the time limit of statements for which a lock is waited for: the refusal comes before that."""
_USUAL: Final = 1.5  # seconds, where the server has no limit: behind a pooler

# What is left of the time limit of statements, as a setting of the same kind.
_PATIENCE: Final = (
    "round(1000 * coalesce(nullif(least(:within, :share * extract(epoch from"
    " nullif(current_setting('statement_timeout'), '0')::interval)), 0), least(:within, :usual)))::text"
)


async def take(connection: AsyncConnection, *locks: int, within: float = 3600.0) -> None:
    """Wait for advisory locks, in this order, and hold them until the transaction ends.

    Rows that others are changing are waited for as long from then on. ``within`` is in seconds. Raises
    ``Overloaded``, by the transaction, for a lock that is not got in time.
    """
    taken = ", ".join(f"pg_advisory_xact_lock({lock:d})" for lock in locks)
    statement = f"SELECT set_config('lock_timeout', {_PATIENCE}, true), {taken}"
    await connection.execute(sa.text(statement), {"within": within, "share": _SHARE, "usual": _USUAL})
