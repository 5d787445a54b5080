"""Users of a running service who hold chosen codes, each by a role of their own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from tests.support.inside import Inside
from tests.web.driver import Answer

ROLE = "INSERT INTO sys.role (role_name, role_name_key, role_code) VALUES (%s, %s, %s) RETURNING id"
# Everybody has the password of the administrator: hashing takes longer than all else.
USER = (
    "INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)"
    " SELECT %s, %s, %s, password_hash FROM sys.user WHERE id = 1 RETURNING id"
)

_MEMBER: Final = f"""
WITH made_role AS ({ROLE}), made_user AS ({USER}),
given AS (INSERT INTO sys.user_role (user_id, role_id) SELECT u.id, r.id FROM made_user u, made_role r),
opened AS (INSERT INTO sys.role_menu SELECT r.id, unnest(%s::bigint[]) FROM made_role r)
SELECT u.id, r.id FROM made_user u, made_role r
"""


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
    ((user_id, role_id),) = await query(service, _MEMBER, *[name] * 6, ids)
    return await Member(service, user_id, role_id, name).log_in()


async def ids_of(service: Inside, *codes: str) -> list[int]:
    """Return the ids of the Buttons of these codes, in their order."""
    rows = await query(service, "SELECT auth_mark, id FROM sys.menu WHERE auth_mark = ANY(%s)", list(codes))
    known = dict(rows)
    return [known[code] for code in codes]


async def query(service: Inside, statement: str, *values: Any) -> list[Any]:
    """Run a statement on the service's database, and return its rows if it gives any."""
    done = await (await service.beside_async()).execute(statement.encode(), values)
    return await done.fetchall() if done.description else []


async def until_row(service: Inside, statement: str, row: tuple[Any, ...]) -> None:
    """Wait until ``statement`` gives ``row`` among others, for what follows an answer; TimeoutError."""
    async with asyncio.timeout(20):
        while row not in await query(service, statement):  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.02)
