"""``sys.rights_change``: the transaction that has changed a user, a role or an API key last, by triggers."""

import sqlalchemy as sa

from service.records.database.transactions import Connection


async def forget(connection: Connection) -> None:
    """Forget which transactions have changed what: after a restore they are numbers of another server.

    Numbers that this server has not come to would count as changes that no follower has, again and again.
    """
    await connection.execute(sa.text("DELETE FROM sys.rights_change"))


async def transaction_number(connection: Connection) -> int:
    """Return the number of this transaction, by which readers find out whether a node has its writes."""
    number = await connection.execute(sa.text("SELECT pg_current_xact_id()::text::bigint"))
    return int(number.scalar_one())
