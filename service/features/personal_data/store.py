"""Reads the rows of a person, by the declarations of the inventory."""

from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from service.kernel.personal import Kept
from service.records.database.transactions import Connection
from service.records.schema.all_tables import metadata
from service.records.schema.base import SCHEMA

MOST: Final = 10_000
"""Rows of a table in a copy; the newest ones of a larger number."""
_PLACE: Final = ("chain_key", "chain_number", "chain_hash")  # of an entry in its chain


def shown(kept: Kept) -> list[sa.Column[Any]]:
    """Return the columns of a table that a copy shows.

    Secrets, names of other users, and what is about others are left out. A column without a declaration has
    no text.
    """
    own_name = {"user_name"} if kept.owner in ("user_id", "id") else {"author_name"}
    hidden = {*kept.secrets.split(), *kept.withheld.split(), *_PLACE, *kept.names.split()} - own_name
    table = metadata.tables[f"{SCHEMA}.{kept.table}"]
    return [column for column in table.columns if column.name not in hidden]


async def rows_of(connection: Connection, kept: Kept, user_id: int, most: int = MOST) -> list[str]:
    """Return the rows of a person in a table, each as a JSON object: at most ``most``, the newest first."""
    await connection.execute(sa.text("SET LOCAL TimeZone = 'UTC'"))
    rows = await connection.execute(_select(kept), {"owner": user_id, "most": most})
    return list(rows.scalars())


@cache
def _select(kept: Kept) -> sa.Select[str]:
    columns = shown(kept)
    table = columns[0].table
    key = [column.desc() for column in table.primary_key.columns]
    chosen = (
        sa.select(*columns)
        .where(table.c[kept.owner] == sa.bindparam("owner"))
        .order_by(*key)
        .limit(sa.bindparam("most", type_=sa.BigInteger))
        .subquery("chosen")
    )
    row: sa.ColumnElement[str] = sa.cast(sa.func.to_jsonb(sa.literal_column("chosen")), sa.Text)
    return sa.select(row).select_from(chosen)
