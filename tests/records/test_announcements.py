from __future__ import annotations

import asyncio

import psycopg
import pytest

from service.errors import Unavailable
from service.records.database.announcements import announcements

pytestmark = pytest.mark.anyio


async def test_what_is_announced_is_heard_in_order_once_listening_has_begun(empty_database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_database_url, autocommit=True) as speaker:
        heard = announcements(empty_database_url, 'a "channel"')
        assert await anext(heard) == ""
        for word in ("1", "2"):
            await speaker.execute("SELECT pg_notify(%s, %s)", ('a "channel"', word))
            assert await anext(heard) == word
        await heard.aclose()


async def test_a_connection_that_ends_is_unavailable(empty_database_url: str) -> None:
    heard = announcements(empty_database_url, "policy")
    await anext(heard)
    async with await psycopg.AsyncConnection.connect(empty_database_url, autocommit=True) as other:
        await other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    with pytest.raises(Unavailable):
        await anext(heard)


async def test_a_database_that_can_not_be_reached_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await anext(announcements("postgresql://nobody@127.0.0.1:1/none", "policy"))


async def test_a_listener_that_is_cancelled_leaves_no_connection(empty_database_url: str) -> None:
    began = asyncio.Event()

    async def listen() -> None:
        async for _ in announcements(empty_database_url, "policy"):
            began.set()

    listener = asyncio.create_task(listen())
    await began.wait()
    listener.cancel()
    await asyncio.gather(listener, return_exceptions=True)

    async with await psycopg.AsyncConnection.connect(empty_database_url, autocommit=True) as other:
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        for _ in range(1000):
            row = await (await other.execute(count)).fetchone()
            if row == (1,):
                break
            await asyncio.sleep(0.02)
        assert row == (1,)
