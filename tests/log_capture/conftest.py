"""A service in the test's own process, and what it has entered in its logs."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from redis.asyncio import Redis

from service.features.embedded.stores import EmbeddedStores
from tests.support.databases import database, session_store
from tests.support.inside import CHEAP_HASHER, Inside, inside_published
from tests.web.driver import Answer

PATIENCE = 20.0  # seconds until an entry stands in its table
PASSWORD = "portals, hinges & bolts"
_HASH = CHEAP_HASHER.hash(PASSWORD)
_numbers = itertools.count(1)

Row = dict[str, Any]


@dataclass(frozen=True)
class Person:
    """A user of a test's own, with ``PASSWORD``."""

    id: int
    name: str


class Logged:
    """A service and its two logs. Each request gets an id by which its entries are found."""

    def __init__(self, inside: Inside, redis_url: str, database: psycopg.AsyncConnection) -> None:
        self.inside = inside
        self.redis_url = redis_url
        self._database = database

    async def ask(
        self, method: str, target: str, body: Any = None, *headers: tuple[str, str], **more: Any
    ) -> Answer:
        """Send one request under an id of its own."""
        name = ("X-Request-Id", f"entry-{next(_numbers)}")
        return await self.inside.ask(method, target, body, name, *headers, **more)

    async def entry(self, answer: Answer) -> Row:
        """Return the one entry of the operation log that a request has left."""
        (row,) = await self.rows("operation_log", _id_of(answer), 1)
        return row

    async def logins(self, answer: Answer, least: int = 1) -> list[Row]:
        """Return the entries of the login log that a request has left, in their order."""
        return await self.rows("login_log", _id_of(answer), least)

    async def entry_of(
        self, method: str, target: str, body: Any = None, *headers: tuple[str, str], **more: Any
    ) -> tuple[Answer, Row]:
        """Send one request and return its answer and its entry."""
        answer = await self.ask(method, target, body, *headers, **more)
        return answer, await self.entry(answer)

    async def rows(self, table: str, request_id: str, least: int) -> list[Row]:
        """Return the entries of a request, in their order, once there are ``least``."""
        statement = sql.SQL("SELECT * FROM sys.{} WHERE request_id = %s ORDER BY id")
        async with asyncio.timeout(PATIENCE):
            while True:
                selected = await self._database.cursor(row_factory=dict_row).execute(
                    statement.format(sql.Identifier(table)), (request_id,)
                )
                rows = await selected.fetchall()
                if len(rows) >= least:
                    return rows
                await asyncio.sleep(0.02)

    async def person(self, *roles: str) -> Person:
        """Make a user with these roles, past the API."""
        name = f"person-{next(_numbers)}"
        async with self._database.transaction():
            inserted = await self._database.execute(
                "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
                " VALUES (%s, %s, %s, %s) RETURNING id",
                (name, name, name.title(), _HASH),
            )
            row = await inserted.fetchone()
            assert row is not None
            await self._database.execute(
                "INSERT INTO sys.user_role SELECT %s, id FROM sys.role WHERE role_code = ANY(%s)",
                (row[0], list(roles)),
            )
        return Person(row[0], name)

    async def log_in(self, person: Person, device: str = "web") -> str:
        """Return an access token of ``person`` for a session on ``device``."""
        body = {"userName": person.name, "password": PASSWORD, "device": device}
        answer = await self.ask("POST", "/api/auth/login", body)
        assert answer.status == 200, answer.body
        token: str = answer.json["data"]["accessToken"]
        return token

    async def end_race(self, person: Person) -> None:
        """Have the refresh tokens that ``person`` has spent been spent a minute ago."""
        async with Redis.from_url(self.redis_url, decode_responses=True) as store:
            async for key in store.scan_iter("auth:spent:*"):
                text = str(await store.get(key))
                if f'"login_id":"{person.id}"' in text:
                    note = json.loads(text)
                    await store.set(key, json.dumps(note | {"spent": note["spent"] - 60_000}), keepttl=True)

    async def execute(self, statement: LiteralString, *values: object) -> None:
        """Change the database past the API."""
        await self._database.execute(statement, values)


def _id_of(answer: Answer) -> str:
    request_id = answer.header("x-request-id")
    assert request_id is not None
    return request_id


@asynccontextmanager
async def watched(inside: Inside, redis_url: str) -> AsyncIterator[Logged]:
    """Watch the logs of ``inside`` over one connection to its database."""
    connect = psycopg.AsyncConnection.connect
    async with await connect(inside.database_url, autocommit=True) as database:
        yield Logged(inside, redis_url, database)


@pytest.fixture(scope="module")
async def logged(stores: EmbeddedStores, published_template: str) -> AsyncIterator[Logged]:
    """A service for a module."""
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        async with inside_published(url, redis_url) as running, watched(running, redis_url) as service:
            yield service
