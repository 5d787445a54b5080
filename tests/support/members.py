"""Users of a running service who hold chosen codes, each by a role of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.support.inside import Inside
from tests.web.driver import Answer

ROLE = "INSERT INTO sys.role (role_name, role_name_key, role_code) VALUES (%s, %s, %s) RETURNING id"
# Everybody has the password of the administrator: hashing takes longer than all else.
USER = (
    "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
    " SELECT %s, %s, %s, password_hash FROM sys.user WHERE id = 1 RETURNING id"
)


@dataclass
class Member:
    """A user who is logged in, with a role of the same name."""

    service: Inside
    user_id: int
    role_id: int
    name: str
    token: str = ""

    async def ask(self, method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> Answer:
        """Send one request as this user."""
        return await self.service.ask(method, target, body, *headers, token=self.token)

    async def log_in(self) -> Member:
        """Take a new token."""
        self.token = await self.service.log_in(self.name)
        return self

    async def held(self) -> set[str]:
        """Return the codes that the user holds now, by a new token."""
        await self.log_in()
        return set((await self.ask("GET", "/api/user/info")).json["data"]["permissions"])


async def member(service: Inside, name: str, *codes: str) -> Member:
    """Write a user in a role of the same name that gives ``codes``, past the service, and log in."""
    ids = await ids_of(service, *codes)
    async with await psycopg.AsyncConnection.connect(service.database_url) as connection:
        role_id = await _id(connection, ROLE, (name, name, name))
        user_id = await _id(connection, USER, (name, name, name))
        await connection.execute("INSERT INTO sys.user_role VALUES (%s, %s)", (user_id, role_id))
        for menu_id in ids:
            await connection.execute("INSERT INTO sys.role_menu VALUES (%s, %s)", (role_id, menu_id))
    return await Member(service, user_id, role_id, name).log_in()


async def ids_of(service: Inside, *codes: str) -> list[int]:
    """Return the ids of the Buttons of these codes, in their order."""
    rows = await query(service, "SELECT auth_mark, id FROM sys.menu WHERE auth_mark = ANY(%s)", list(codes))
    known = dict(rows)
    return [known[code] for code in codes]


async def query(service: Inside, statement: str, *values: Any) -> list[Any]:
    """Run a statement on the service's database, and return its rows if it gives any."""
    async with await psycopg.AsyncConnection.connect(service.database_url) as connection:
        done = await connection.execute(statement.encode(), values)
        return await done.fetchall() if done.description else []


async def _id(connection: psycopg.AsyncConnection, statement: str, values: tuple[Any, ...]) -> int:
    row = await (await connection.execute(statement.encode(), values)).fetchone()
    assert row is not None, json.dumps(values)
    number: int = row[0]
    return number
