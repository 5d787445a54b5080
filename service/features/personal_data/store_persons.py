"""Finds the values of a person by number, and keeps them while an erasure runs."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from msgspec import Struct

from service.administration.change_log import user_target
from service.features.personal_data.inventory import inventory
from service.features.personal_data.persons import MOST, Person, is_searchable
from service.features.personal_data.schema import erasure
from service.kernel.personal import Kept
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.rights import user

_FIELDS: Final = ("userName", "nickName", "email", "phone", "recoveryEmail", "avatar")
"""Fields of users whose logged changes have values of the person."""
_OF_OTHERS: Final = ("user_name", "nick_name", "email", "phone", "recovery_email", "avatar")

_NAMES: Final = """
SELECT user_name FROM sys."user" WHERE id = :user_id
UNION SELECT user_name_key FROM sys."user" WHERE id = :user_id
UNION SELECT reviewer_name FROM sys.review_item WHERE reviewer_id = :user_id
"""
_LOGGED: Final = """
SELECT user_name FROM sys.operation_log WHERE user_id = :user_id
UNION SELECT user_name FROM sys.login_log WHERE user_id = :user_id
"""
_VALUES: Final = """
SELECT unnest(ARRAY[
    user_name, nick_name, email, phone, avatar, recovery_email, agreed_email, reached_email
]) FROM sys."user" WHERE id = :user_id
UNION SELECT unnest(ARRAY[external_id, display_name, formatted_name])
    FROM sys.scim_user WHERE user_id = :user_id
UNION SELECT subject FROM sys.directory_account WHERE user_id = :user_id
UNION SELECT email FROM sys.account_token WHERE user_id = :user_id
UNION SELECT email FROM sys.address_undo WHERE user_id = :user_id
UNION SELECT recipient FROM sys.mail WHERE user_id = :user_id
"""
_CHANGED: Final = """
SELECT DISTINCT value #>> '{}'
FROM sys.operation_log
CROSS JOIN LATERAL jsonb_array_elements(
    CASE jsonb_typeof(changes) WHEN 'array' THEN changes END
) AS items (change)
CROSS JOIN LATERAL (VALUES (change -> 'before'), (change -> 'after')) AS values_of (value)
WHERE targets IS NOT NULL AND targets && CAST(:targets AS text[]) AND change ->> 'target' = ANY (:targets)
    AND change ->> 'field' = ANY (:fields) AND jsonb_typeof(value) = 'string'
"""


class Running(Struct, frozen=True):
    """An erasure that has not ended."""

    names: list[str]
    searched: list[str]


class Account(Struct, frozen=True):
    """An account that is not deleted."""

    user_name: str
    version: int


class Erasure(Struct, frozen=True):
    """The latest erasure of a person; ``end_time`` is None while it runs, ``author_id`` for the operator."""

    user_id: int
    begin_time: datetime
    end_time: datetime | None
    author_id: int | None


_RUNNING: Final = RowMapper(Running, erasure)
_ERASURE: Final = RowMapper(Erasure, erasure)
_ACCOUNT: Final = RowMapper(Account, user)


def own_name(kept: Kept) -> str | None:
    """Return the column with the name of the owner of a row, if the table has one."""
    first = (kept.names.split() or [""])[0]
    return first if kept.owner and first in ("user_name", "author_name") else None


async def erasure_of(connection: Connection, user_id: int) -> Erasure | None:
    """Return the latest erasure of a person, or None."""
    return await _ERASURE.only(connection, erasure.c.user_id == user_id)


async def account(connection: Connection, user_id: int) -> Account | None:
    """Return the account with that number; None for a deleted one."""
    return await _ACCOUNT.only(connection, user.c.id == user_id)


async def running(connection: Connection) -> list[int]:
    """Return the numbers of the persons whose erasure has not ended."""
    statement = sa.select(erasure.c.user_id).where(erasure.c.end_time.is_(None)).order_by(erasure.c.user_id)
    return [*(await connection.execute(statement)).scalars()]


async def is_any_running(connection: Connection) -> bool:
    """Return true if an erasure has not ended."""
    return bool(await running(connection))


async def person(connection: Connection, user_id: int, *, with_logs: bool = True) -> Person:
    """Return a person with the names and values that tables, logs and a running erasure have."""
    stored = await _RUNNING.only(connection, erasure.c.user_id == user_id, erasure.c.end_time.is_(None))
    names = {*(stored.names if stored else ()), *await _texts(connection, _NAMES, user_id=user_id)}
    if with_logs:
        names |= await _texts(connection, _LOGGED, user_id=user_id)
    for kept in inventory():
        if (column := own_name(kept)) is not None:
            named = f"SELECT {column} FROM sys.{kept.table} WHERE {kept.owner} = :user_id"  # noqa: S608 - of constants
            names |= await _texts(connection, named, user_id=user_id)
    names.discard(f"#{user_id}")
    values = {*(stored.searched if stored else ()), *names}
    values |= await _texts(connection, _VALUES, user_id=user_id)
    taken = await _taken(connection, user_id, names, ("user_name",))
    free = sorted(names - taken)
    if with_logs:
        targets = [*map(user_target, free)]
        values |= await _texts(connection, _CHANGED, targets=targets, fields=[*_FIELDS])
    shared = await _taken(connection, user_id, values)
    words = await _words(connection)
    searched = {value for value in values - shared if is_searchable(value, words)}
    return Person(
        user_id,
        tuple(free),
        tuple(sorted(searched, key=len, reverse=True)[:MOST]),
        tuple(sorted((values - searched) | taken)),
    )


async def begin(connection: Connection, known: Person, author_id: int | None) -> None:
    """Store an erasure that begins, or goes on if it has not ended."""
    statement = """
        INSERT INTO sys.erasure (user_id, author_id, names, searched, pattern)
        VALUES (:user_id, :author_id, :names, :searched, :pattern)
        ON CONFLICT (user_id) DO UPDATE SET author_id = excluded.author_id,
            begin_time = CASE
                WHEN erasure.end_time IS NULL THEN erasure.begin_time ELSE excluded.begin_time
            END,
            end_time = NULL, names = excluded.names, searched = excluded.searched, pattern = excluded.pattern
    """
    await connection.execute(sa.text(statement), {**_stored(known), "author_id": author_id})


async def refresh(connection: Connection, known: Person) -> datetime | None:
    """Store the values of a running erasure, and lock it; return its beginning, None if it has ended."""
    statement = """
        UPDATE sys.erasure SET names = :names, searched = :searched, pattern = :pattern
        WHERE user_id = :user_id AND end_time IS NULL RETURNING begin_time
    """
    begun: datetime | None = (
        await connection.execute(sa.text(statement), _stored(known))
    ).scalar_one_or_none()
    return begun


async def was_assigned(connection: Connection, user_id: int) -> bool:
    """Return true if an account has or had the number."""
    last = "pg_sequence_last_value(CAST(pg_get_serial_sequence('sys.\"user\"', 'id') AS regclass))"
    statement = f"SELECT :user_id BETWEEN 1 AND coalesce({last}, 0)"
    return bool((await connection.execute(sa.text(statement), {"user_id": user_id})).scalar_one())


async def end(connection: Connection, user_id: int) -> None:
    """End an erasure, and delete its values."""
    gone = {"names": None, "searched": None, "pattern": None}
    ended = sa.update(erasure).where(erasure.c.user_id == user_id, erasure.c.end_time.is_(None))
    await connection.execute(ended.values(**gone, end_time=sa.func.now()))


def _stored(known: Person) -> dict[str, Any]:
    return {
        "user_id": known.user_id,
        "names": [*known.names],
        "searched": [*known.searched],
        "pattern": known.pattern,
    }


async def _texts(connection: Connection, statement: str, **values: Any) -> set[str]:
    rows = (await connection.execute(sa.text(statement), values)).scalars()
    return {text for text in rows if text}


async def _taken(
    connection: Connection, user_id: int, values: set[str], columns: Iterable[str] = _OF_OTHERS
) -> set[str]:
    """Return those of ``values`` that other accounts have now, in one of ``columns``."""
    listed = ", ".join(f"lower({name})" for name in columns)
    statement = f"""
        SELECT value FROM unnest(CAST(:texts AS text[])) AS given (value)
        WHERE EXISTS (SELECT FROM sys."user" WHERE id <> :user_id AND lower(value) IN ({listed}))
    """  # noqa: S608 - of constants
    return await _texts(connection, statement, user_id=user_id, texts=sorted(values))


async def _words(connection: Connection) -> set[str]:
    """Return names of roles and services, which mean these."""
    statement = """
        SELECT role_code FROM sys.role UNION SELECT role_name FROM sys.role UNION SELECT name FROM sys.service
    """
    return {text.casefold() for text in await _texts(connection, statement)}
