"""Answers are events of the decision log, and no entries of the operation log."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from service.audit.decision_event import decoded
from tests.access.conftest import EVALUATION, Access, user

pytestmark = pytest.mark.anyio


async def events(access: Access, request_id: str, number: int) -> list[dict[str, Any]]:
    """Wait for the events of answers to a request."""
    matching: list[dict[str, Any]] = []
    while len(matching) < number:
        await asyncio.sleep(0.02)
        lines = access.log.read_bytes().splitlines() if access.log.exists() else []
        evaluations = [event for line in lines if (event := json.loads(line))["event"] == "evaluation"]
        matching = [evaluation for evaluation in evaluations if evaluation["request_id"] == request_id]
    return matching


async def test_an_answer_is_an_event_that_tells_the_user_and_never_the_token(access: Access) -> None:
    alice, gateway = access.members["alice"], access.members["gateway"]
    token = {"type": "token", "id": alice.token}
    question = {"action": {"name": "read"}, "resource": {"type": "record", "id": "record-1"}}
    decisions = {}
    for name, subject in {
        "told": token,
        "unknown": user("hunter2"),
        "strange": {**token, "type": "x"},
    }.items():
        answer = await access.ask(EVALUATION, {**question, "subject": subject}, ("X-Request-ID", name))
        decisions[name] = answer.json["context"].get("decisionId")

    (event,) = await events(access, "told", 1)
    assert (event["outcome"], event["reason"], event["decision"]) == ("allow", "opened", decisions["told"])
    assert (event["asked_by"], event["user_id"], event["roles"]) == (
        gateway.user_id,
        alice.user_id,
        ["alice"],
    )
    assert event["line"] == "p, permission, record:record-1:read, record:record-1:read"
    (unknown,) = await events(access, "unknown", 1)
    assert (unknown["outcome"], unknown["reason"]) == ("deny", "subject_not_active")
    assert not {"decision", "user_id", "codes", "layer"} & set(unknown)
    assert (await events(access, "strange", 1))[0]["subject_type"] == ""
    written = access.log.read_bytes()
    assert alice.token.encode() not in written
    assert b"hunter2" not in written
    assert all(decoded(line) is None for line in written.splitlines() if b'"evaluation"' in line)


async def test_questions_are_not_entered_in_the_operation_log(access: Access) -> None:
    await access.allows("alice", "read", "record-1")

    entries = await access.service.data("GET", "/api/operation-log/list?size=200")
    assert [entry["url"] for entry in entries["items"] if entry["url"].startswith("/access/")] == []
