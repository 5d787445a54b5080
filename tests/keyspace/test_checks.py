"""The per-request check."""

from __future__ import annotations

import asyncio

import pytest

from service.errors import Unavailable
from service.keyspace import SessionStore, revision_in
from tests.keyspace.conftest import OpenSession, Raw

pytestmark = pytest.mark.anyio


async def test_a_check_returns_the_marker_and_the_session(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await open_session("1", "web")
    await raw.set("auth:deny:1", "refresh:1.5")

    marker, session, *_ = await store.check("1", "web")
    assert marker == b"refresh:1.5"
    assert session == (await raw.get("auth:device:1:web")).encode()


async def test_a_check_of_a_stranger_finds_nothing(store: SessionStore) -> None:
    assert await store.check("404", "web") == (None, None, None, None)


async def test_a_check_returns_the_policy_revision_announced_before_it(store: SessionStore) -> None:
    first = store.check("1", "web")
    assert revision_in((await first).revision) is None
    for revision in (7, 8):
        await store.revision_key.announce(revision)
        answers = await asyncio.gather(*(store.check(login_id, "web") for login_id in ("1", "2", "3")))
        assert [revision_in(answer.revision) for answer in answers] == [revision] * 3


async def test_checks_of_one_loop_tick_leave_as_one_command(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await store.check("0", "web")
    before = (await raw.info("commandstats"))["cmdstat_mget"]["calls"]
    for number in range(1, 101):
        await open_session(str(number), "web", f"rid-{number}")
    answers = await asyncio.gather(*(store.check(str(number), "web") for number in range(1, 101)))
    after = (await raw.info("commandstats"))["cmdstat_mget"]["calls"]

    assert after - before == 1
    assert [f"rid-{number}".encode() in (text or b"") for number, (_, text, *_) in enumerate(answers, 1)] == (
        [True] * 100
    )


async def test_a_check_asked_for_after_a_marker_was_set_sees_it(store: SessionStore, raw: Raw) -> None:
    async def background() -> None:
        for _ in range(200):
            await store.check("2", "web")

    noise = asyncio.gather(*(background() for _ in range(5)))
    unseen = 0
    for number in range(200):
        await raw.set("auth:deny:1", f"refresh:{number}")
        marker, *_ = await store.check("1", "web")
        unseen += marker != f"refresh:{number}".encode()
    await noise

    assert unseen == 0


async def test_a_cancelled_check_leaves_the_others_their_answers(
    open_session: OpenSession, store: SessionStore
) -> None:
    await open_session("1", "web")
    first = asyncio.ensure_future(store.check("1", "web"))
    second = asyncio.ensure_future(store.check("1", "web"))
    await asyncio.sleep(0)
    first.cancel()

    assert (await second)[1] is not None


async def test_a_check_survives_the_loss_of_its_connection(store: SessionStore, raw: Raw) -> None:
    await store.check("1", "web")
    await raw.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    assert await store.check("1", "web") == (None, None, None, None)


async def test_a_caller_that_waits_when_the_store_is_closed_is_refused(store: SessionStore) -> None:
    waiting = asyncio.ensure_future(store.check("1", "web"))
    await asyncio.sleep(0)
    await store.close()

    with pytest.raises(Unavailable):
        await waiting
