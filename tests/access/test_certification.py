"""The AuthZEN certification scenario for the Authorization API 1.0, as far as it asks for no properties."""

from __future__ import annotations

from typing import Any

import pytest

from tests.access.conftest import EVALUATION, EVALUATIONS, Access

pytestmark = pytest.mark.anyio

ALICE: dict[str, Any] = {"type": "user", "id": "alice"}
BOB: dict[str, Any] = {"type": "user", "id": "bob"}
READ, WRITE = {"name": "read"}, {"name": "write"}
FIRST: dict[str, Any] = {"type": "record", "id": "record-1"}
SECOND: dict[str, Any] = {"type": "record", "id": "record-2"}
GOOD = {"subject": ALICE, "action": READ, "resource": FIRST}
MOMENT = {"time": "2025-06-27T18:03-07:00", "ip": "192.168.1.1"}


@pytest.mark.parametrize(
    ("body", "decision"),
    [
        (GOOD, True),
        ({"subject": ALICE, "action": WRITE, "resource": FIRST}, True),
        ({"subject": BOB, "action": READ, "resource": FIRST}, True),
        ({"subject": BOB, "action": WRITE, "resource": FIRST}, False),
        ({**GOOD, "context": MOMENT}, True),
        ({**GOOD, "foo": "bar", "futureField": {"nested": True}}, True),
        (
            {
                "subject": {**ALICE, "properties": {"department": "Sales", "role": "manager"}},
                "action": {**READ, "properties": {"method": "GET"}},
                "resource": {**FIRST, "properties": {"status": "active", "owner": "bob"}},
            },
            True,
        ),
    ],
)
async def test_basic_a_question_is_decided_as_the_fixture_says(
    access: Access, body: dict[str, Any], decision: bool
) -> None:
    for _ in range(3):  # the same each time
        answer = await access.ask(EVALUATION, body)
        assert (answer.status, answer.header("content-type")) == (200, "application/json")
        assert answer.json["decision"] is decision
        assert isinstance(answer.json["context"], dict)


@pytest.mark.parametrize(
    "body",
    [
        {"action": READ, "resource": FIRST},
        {"subject": ALICE, "resource": FIRST},
        {"subject": ALICE, "action": READ},
        {**GOOD, "subject": {"id": "alice"}},
        {**GOOD, "subject": {"type": "user"}},
        {**GOOD, "action": {}},
        {**GOOD, "resource": {"id": "record-1"}},
        {**GOOD, "resource": {"type": "record"}},
        {**GOOD, "subject": "alice"},
        {**GOOD, "action": {"name": 123}},
        {**GOOD, "resource": {**FIRST, "properties": []}},
        [],
        "alice",
    ],
)
async def test_basic_a_faulty_question_is_a_bad_request(access: Access, body: Any) -> None:
    for path in (EVALUATION, EVALUATIONS):
        answer = await access.ask(path, body)
        assert (answer.status, answer.code) == (400, "bad_request")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/plain", b"{}"),
        ("application/x-www-form-urlencoded", b"a=b"),
        ("application/json", b""),
        ("application/json", b"{"),
        ("application/json", b'{"subject": 1, "subject": 1}'),
        ("application/json", b'"\xff"'),
    ],
)
async def test_basic_what_is_no_json_is_a_bad_request(access: Access, content_type: str, body: bytes) -> None:
    token = access.members["gateway"].token
    answer = await access.service.ask_raw(
        "POST", EVALUATION, body, ("Content-Type", content_type), token=token
    )

    assert (answer.status, answer.code) == (400, "bad_request")


async def test_basic_a_charset_is_accepted(access: Access) -> None:
    content_type = ("Content-Type", "application/json; charset=utf-8")
    body = b'{"subject": {"type": "user", "id": "alice"}, "action": {"name": "read"},'
    body += b' "resource": {"type": "record", "id": "record-1"}}'
    token = access.members["gateway"].token
    answer = await access.service.ask_raw("POST", EVALUATION, body, content_type, token=token)

    assert (answer.status, answer.json["decision"]) == (200, True)


@pytest.mark.parametrize("sent", ["bfe9eb29-ab87-4ca3-be83-a1d5d8305716", "a b/{c}:\u00e9;=\"'", "x" * 1024])
async def test_basic_the_request_id_returns_exactly(access: Access, sent: str) -> None:
    for body, status in ((GOOD, 200), ({}, 400)):
        answer = await access.ask(EVALUATION, body, ("X-Request-ID", sent))
        assert (answer.status, answer.header("x-request-id")) == (status, sent)
    assert (await access.ask(EVALUATION, GOOD)).header("x-request-id")


async def test_an_id_that_is_too_long_is_replaced_and_no_id_of_the_api_is_echoed(access: Access) -> None:
    answer = await access.ask(EVALUATION, GOOD, ("X-Request-ID", "x" * 1025))
    other = await access.service.ask("GET", "/api/user/info", None, ("X-Request-ID", "a b"))

    assert answer.header("x-request-id") != "x" * 1025
    assert other.header("x-request-id") != "a b"


@pytest.mark.parametrize(
    ("body", "decisions"),
    [
        (
            {"subject": ALICE, "action": READ, "evaluations": [{"resource": FIRST}, {"resource": SECOND}]},
            [True, False],
        ),
        (
            {"subject": BOB, "resource": FIRST, "evaluations": [{"action": READ}, {"action": WRITE}]},
            [True, False],
        ),
        ({"evaluations": [GOOD, {"subject": BOB, "action": WRITE, "resource": FIRST}]}, [True, False]),
        (
            {
                "subject": ALICE,
                "action": READ,
                "context": MOMENT,
                "evaluations": [{"resource": FIRST}, {"resource": SECOND, "context": {"source": "other"}}],
            },
            [True, False],
        ),
        ({**GOOD, "evaluations": [{}, {"resource": SECOND}]}, [True, False]),
        # A faulty question is denied in its place.
        ({"subject": ALICE, "action": READ, "evaluations": [{"resource": FIRST}, {}]}, [True, False]),
        ({**GOOD, "evaluations": [{"subject": {"type": "user"}}, 7, "x", None, {}]}, [False] * 4 + [True]),
    ],
)
async def test_batch_each_question_is_decided_in_its_place(
    access: Access, body: dict[str, Any], decisions: list[bool]
) -> None:
    for semantic in ({}, {"options": {"evaluations_semantic": "execute_all", "another_option": "value"}}):
        answer = await access.ask(EVALUATIONS, {**body, **semantic})
        assert answer.status == 200, answer.body
        assert [one["decision"] for one in answer.json["evaluations"]] == decisions
        assert "decision" not in answer.json


@pytest.mark.parametrize("more", [{}, {"evaluations": []}])
async def test_batch_without_questions_it_is_one_question_itself(
    access: Access, more: dict[str, Any]
) -> None:
    answer = await access.ask(EVALUATIONS, {**GOOD, **more})

    assert (answer.status, answer.json["decision"], "evaluations" in answer.json) == (200, True, False)


@pytest.mark.parametrize(
    ("semantic", "decisions"),
    [
        ("execute_all", [True, False, True]),
        ("deny_on_first_deny", [True, False]),
        ("permit_on_first_permit", [True]),
    ],
)
async def test_batch_ends_behind_the_question_that_decides_it(
    access: Access, semantic: str, decisions: list[bool]
) -> None:
    body = {
        "subject": ALICE,
        "action": READ,
        "options": {"evaluations_semantic": semantic},
        "evaluations": [{"resource": FIRST}, {"resource": SECOND}, {"resource": FIRST}],
    }
    answer = await access.ask(EVALUATIONS, body)

    assert [one["decision"] for one in answer.json["evaluations"]] == decisions


@pytest.mark.parametrize(
    "body",
    [
        {**GOOD, "evaluations": [{}], "options": {"evaluations_semantic": "some_day"}},
        {**GOOD, "evaluations": {}},
        {**GOOD, "evaluations": [{}], "options": []},
        {**GOOD, "evaluations": [{}], "subject": {"type": "user"}},
        {**GOOD, "evaluations": [{}] * 1001},
    ],
)
async def test_batch_a_fault_of_the_whole_is_a_bad_request(access: Access, body: dict[str, Any]) -> None:
    assert (await access.ask(EVALUATIONS, body)).status == 400
