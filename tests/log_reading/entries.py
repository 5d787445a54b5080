"""Entries of the logs, written as they lie in the tables.

From another thread: the service runs in the loop of the test, may have the tables locked, and must go on.
"""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import Table, insert, text

from service.records.database.transactions import engine
from service.records.schema.logs import login_log, operation_log
from tests.support.inside import Inside

START = datetime(2026, 11, 21, 2, 33, 53, 123456, tzinfo=UTC)

_OPERATION = {
    "module": "role",
    "action": "create",
    "kind": "INSERT",
    "method": "POST",
    "url": "/api/role",
    "status": 200,
    "elapsed_ms": 3.25,
}
_LOGIN = {"event": "login", "outcome": "success"}


def at(seconds: float) -> datetime:
    """Return the time so many seconds after ``START``."""
    return START + timedelta(seconds=seconds)


async def operations(database_url: str, *entries: dict[str, Any]) -> list[int]:
    """Write calls, a second apart unless they say when; return their ids."""
    return await asyncio.to_thread(_write, database_url, operation_log, _OPERATION, entries)


async def logins(database_url: str, *entries: dict[str, Any]) -> list[int]:
    """Write events of sessions, a second apart unless they say when; return their ids."""
    return await asyncio.to_thread(_write, database_url, login_log, _LOGIN, entries)


def _write(database_url: str, table: Table, usual: dict[str, Any], entries: tuple[Any, ...]) -> list[int]:
    with engine(database_url).begin() as connection:
        return [
            connection.execute(
                insert(table)
                .values({"create_time": at(number), "event_id": uuid4()} | usual | entry)
                .returning(table.c.id)
            ).scalar_one()
            for number, entry in enumerate(entries)
        ]


async def person(database_url: str, name: str, role: str | None = None) -> int:
    """Make a user with the administrator's password, and with a role; return the id."""
    return await asyncio.to_thread(_person, database_url, name, role)


def _person(database_url: str, name: str, role: str | None) -> int:
    with engine(database_url).begin() as connection:
        made = connection.execute(
            text(
                "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
                " SELECT :name, :name, :name, password_hash FROM sys.user WHERE user_name = 'admin'"
                " RETURNING id"
            ),
            {"name": name},
        ).scalar_one()
        connection.execute(
            text("INSERT INTO sys.user_role SELECT :id, id FROM sys.role WHERE role_code = :role"),
            {"id": made, "role": role},
        )
    return int(made)


async def ids(service: Inside, target: str) -> list[int]:
    """Return the ids of the entries of a list, in its order."""
    return [entry["id"] for entry in (await service.data("GET", target))["items"]]
