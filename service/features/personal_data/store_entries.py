"""Entries of the logs that hold a person."""

from datetime import datetime
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from service.features.audit_proof import store_chain as log_chain
from service.features.audit_proof import store_months as log_months
from service.features.audit_proof.commitments import ACTOR
from service.features.audit_proof.rows import COLUMNS
from service.features.personal_data.persons import Person
from service.records.database.transactions import Connection
from service.records.logs.inserts import TABLES, Log

Place: TypeAlias = tuple[datetime, int]
"""Time and id of an entry."""
ABOUT: Final = "/api/user/{0} /scim/v2/Users/{0}"
"""The paths of requests about a person."""
_PLAIN: Final = """
SELECT count(*) FROM sys.operation_log WHERE salts IS NOT NULL AND (url ~* :pattern OR EXISTS (
    SELECT FROM unnest(targets) AS named (target) WHERE target NOT LIKE 'user:%' AND target ~* :pattern
) OR changes::text ~* :pattern AND EXISTS (
    SELECT FROM jsonb_array_elements(
        CASE jsonb_typeof(changes) WHEN 'array' THEN changes END
    ) AS items (change)
    WHERE change ->> 'target' NOT LIKE 'user:%' AND change::text ~* :pattern
))
"""
ACT: Final = "erasure"
"""The last segment of the path of an erasure, whose entry stays as it is."""


def is_about(person: Person, url: str) -> bool:
    """Return true if a request to ``url`` is about the person, and no erasure."""
    begins = any(url == path or url.startswith(f"{path}/") for path in ABOUT.format(person.user_id).split())
    return begins and not url.endswith(f"/{ACT}")


async def can_change(connection: Connection, log: Log) -> bool:
    """Lock the entries of ``log`` against maintenance until the transaction ends; False if it runs now."""
    return await log_months.alone(connection) and not await log_months.is_staged(connection, log)


async def holding(
    connection: Connection, log: Log, person: Person, after: Place | None, most: int
) -> list[dict[str, Any]]:
    """Return at most ``most`` entries after a place that can hold the person, by time and id."""
    table = TABLES[log]
    order = (table.c.create_time, table.c.id)
    conditions = [table.c.salts.is_not(None), _can_hold(log, person)]
    if after is not None:
        conditions.append(sa.tuple_(*order) > sa.tuple_(*map(sa.literal, after)))
    columns = log_chain.chained_columns(log, COLUMNS[log])
    # The time of an entry as stored: that of the chain is a readable one.
    placed = [table.c.create_time.label("stored_time"), _is_linked(log, person).label("is_own"), *columns]
    rows = await connection.execute(sa.select(*placed).where(*conditions).order_by(*order).limit(most))
    return [dict(row) for row in rows.mappings()]


async def save(connection: Connection, log: Log, row: dict[str, Any], columns: dict[str, Any]) -> None:
    """Store the columns of an entry that an erasure changes."""
    table = TABLES[log]
    if isinstance(columns.get("changes"), str):
        columns = {
            **columns,
            "changes": sa.text("CAST(:changes AS jsonb)").bindparams(changes=columns["changes"]),
        }
    place = (table.c.create_time == row["stored_time"], table.c.id == row["id"])
    await connection.execute(sa.update(table).where(*place).values(columns))


async def counts(connection: Connection, log: Log, person: Person) -> tuple[int, int, datetime | None, int]:
    """Return the entries to erase; those without salts, which stay, and the time of the last of these.

    Then the entries with a value outside of the commitments, in a change of another record or in the path.
    """
    table = TABLES[log]
    salted = table.c.salts.is_not(None)
    statement = sa.select(
        sa.func.count().filter(salted),
        sa.func.count().filter(~salted),
        sa.func.max(table.c.create_time).filter(~salted),
    ).where(_holds(log, person))
    erasable, older, last = (await connection.execute(statement)).one()
    plain = 0
    if log == "operation_log":
        values = {"pattern": person.pattern}
        plain = (await connection.execute(sa.text(_PLAIN), values)).scalar_one()
    return erasable, older, last, plain


def _text_of(log: Log) -> sa.ColumnElement[Any]:
    table = TABLES[log]
    names = [*ACTOR[log]]
    if log == "operation_log":
        names += ["url", "query", "params", "response", "error", "targets", "changes"]
    return sa.func.concat_ws(" ", *(sa.cast(table.c[name], sa.Text) for name in names))


def _is_linked(log: Log, person: Person) -> sa.ColumnElement[bool]:
    """Return the condition of entries of the request of a login of the person, which have no user."""
    login, table = TABLES["login_log"].alias(), TABLES[log]
    logins = sa.select(login.c.request_id).where(
        login.c.user_id == person.user_id, login.c.request_id.is_not(None)
    )
    linked = sa.and_(table.c.user_id.is_(None), table.c.request_id.in_(logins))
    return sa.func.coalesce(linked, sa.false())


def _can_hold(log: Log, person: Person) -> sa.ColumnElement[bool]:
    """Return the condition of entries of the person, about the person, or with a value as part of a text."""
    table = TABLES[log]
    conditions = [table.c.user_id == person.user_id, _text_of(log).op("~*")(person.loose)]
    if log == "operation_log":
        conditions.append(_is_linked(log, person))
        conditions += [table.c.url.op("~")(f"^{path}(/|$)") for path in ABOUT.format(person.user_id).split()]
        conditions.append(table.c.targets.overlap([*person.targets]))
    return sa.or_(*conditions)


def _holds(log: Log, person: Person) -> sa.ColumnElement[bool]:
    table = TABLES[log]
    actor = [table.c[name].is_not(None) for name in ACTOR[log] if name != "device"]
    conditions = [
        sa.and_(table.c.user_id == person.user_id, sa.or_(*actor)),
        _text_of(log).op("~*")(person.pattern),
    ]
    if log == "operation_log":
        conditions.append(table.c.targets.overlap([*person.targets]))
    return sa.or_(*conditions)
