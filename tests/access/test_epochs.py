"""A question about a known user needs no round trip of its own, and no change goes unnoticed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from service.keyspace import SessionStore
from tests.access.conftest import EVALUATION, EVALUATIONS, Access, user
from tests.support.members import member
from tests.web.driver import JSON, ask

pytestmark = pytest.mark.anyio

READ = "record:record-1:read"
FIRST = {"type": "record", "id": "record-1"}


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the users whose epochs are compared from now on."""
    asked: list[str] = []
    real = SessionStore.check_all_rights

    def counted(store: SessionStore, login_ids: Any) -> Any:
        ids = list(login_ids)
        asked.extend(ids)
        return real(store, ids)

    monkeypatch.setattr(SessionStore, "check_all_rights", counted)
    return asked


@pytest.fixture
async def client(module_redis_url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(module_redis_url)
    yield client
    await client.aclose()


async def test_a_known_user_is_compared_once_after_a_change_of_anybody(
    access: Access, compared: list[str]
) -> None:
    who, other = await member(access.service, "hugo", READ), await member(access.service, "ines")
    await access.allows("hugo", "read", "record-1")
    for change in ("disabled", "enabled"):
        await access.service.data("PUT", f"/api/user/{other.user_id}/status", {"status": change})
        for comparisons in ([str(who.user_id)], [], []):
            compared.clear()
            assert await access.allows("hugo", "read", "record-1")
            assert compared == comparisons, change


async def test_of_a_batch_only_users_in_doubt_are_compared(access: Access, compared: list[str]) -> None:
    known, new = await member(access.service, "jana", READ), await member(access.service, "kurt", READ)
    for _ in range(2):
        await access.allows("jana", "read", "record-1")
    compared.clear()
    questions = [{"subject": user(name)} for name in ("jana", "kurt", "nobody")]
    body = {"action": {"name": "read"}, "resource": FIRST, "evaluations": questions}
    answer = await access.ask(EVALUATIONS, body)

    assert [evaluation["decision"] for evaluation in answer.json["evaluations"]] == [True, True, False]
    assert str(new.user_id) in compared
    assert str(known.user_id) not in compared


async def test_without_the_epoch_of_all_rights_a_question_compares(
    access: Access, compared: list[str], client: Redis
) -> None:
    who = await member(access.service, "lena", READ)
    await access.allows("lena", "read", "record-1")
    await client.delete("auth:rights")
    for _ in range(2):
        compared.clear()
        assert await access.allows("lena", "read", "record-1")
        assert compared == [str(who.user_id)]


@pytest.mark.parametrize("expects", [False, True])
async def test_a_question_that_ends_after_a_change_is_not_answered_by_rights_from_before(
    access: Access, *, expects: bool
) -> None:
    """The head of the request comes before the change, and its body after it."""
    service, name = access.service, f"mona-{int(expects)}"
    who = await member(service, name, READ)
    question = {"subject": user(name), "action": {"name": "read"}, "resource": FIRST}
    raw = json.dumps(question).encode()
    headers = [
        JSON,
        ("Authorization", f"Bearer {access.members['gateway'].token}"),
        ("Content-Length", str(len(raw))),
    ]
    if expects:
        headers.append(("Expect", "100-continue"))
    has_come, waits = asyncio.Event(), asyncio.Event()

    async def late(scope: Any, receive: Any, send: Any) -> None:
        async def receive_late() -> Any:
            if not has_come.is_set():
                waits.set()
            await has_come.wait()
            return await receive()

        await service._app(scope, receive_late, send)

    for _ in range(2):
        assert await access.allows(name, "read", "record-1")
    asking = asyncio.create_task(ask(late, "POST", EVALUATION, *headers, body=raw))  # type: ignore[arg-type]
    await waits.wait()
    await asyncio.sleep(0.05)  # the guard has the answer of the session store
    await service.data("PATCH", f"/api/user/{who.user_id}", {"roleIds": []})
    has_come.set()
    assert (await asking).json["decision"] is False
