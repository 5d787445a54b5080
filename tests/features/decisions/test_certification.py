"""The AuthZEN certification scenario for the Authorization API 1.0, as far as it asks for no properties."""

from typing import Any

import pytest

from service.errors import NotFound
from service.features.decisions.api_configuration import AccessConfiguration
from tests.features.decisions.conftest import EVALUATION, EVALUATIONS, Access
from tests.support.cases import with_each

ALICE: dict[str, Any] = {"type": "user", "id": "alice"}
BOB: dict[str, Any] = {"type": "user", "id": "bob"}
READ, WRITE = {"name": "read"}, {"name": "write"}
FIRST: dict[str, Any] = {"type": "record", "id": "record-1"}
SECOND: dict[str, Any] = {"type": "record", "id": "record-2"}
GOOD = {"subject": ALICE, "action": READ, "resource": FIRST}
MOMENT = {"time": "2025-06-27T18:03-07:00", "ip": "192.168.1.1"}


@with_each(
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


@with_each(
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


@with_each(
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


@with_each(
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
        assert [evaluation["decision"] for evaluation in answer.json["evaluations"]] == decisions
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

    assert [evaluation["decision"] for evaluation in answer.json["evaluations"]] == decisions


@with_each(
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


SEARCHES = {
    "subject": {"subject": {"type": "user"}, "action": READ, "resource": FIRST},
    "resource": {"subject": ALICE, "action": READ, "resource": {"type": "record"}},
    "action": {"subject": ALICE, "resource": FIRST},
}
FOUND: dict[str, list[dict[str, Any]]] = {
    "subject": [{"type": "user", "id": "alice"}, {"type": "user", "id": "bob"}],
    "resource": [FIRST],
    "action": [READ, WRITE],
}


async def search_results(access: Access, what: str, body: dict[str, Any]) -> Any:
    answer = await access.ask(f"/access/v1/search/{what}", body, by="searcher")
    assert (answer.status, answer.header("content-type")) == (200, "application/json"), answer.body
    return answer.json


@with_each("what", SEARCHES)
async def test_search_finds_what_would_be_allowed(access: Access, what: str) -> None:
    searched = what if what != "action" else "subject"
    plain = (await search_results(access, what, SEARCHES[what]))["results"]

    assert [result for result in plain if result.get("id") != "admin"] == FOUND[what]
    assert (await search_results(access, what, {**SEARCHES[what], "context": MOMENT}))["results"] == plain
    if what != "action":
        entity = {**SEARCHES[what][searched], "id": "record-1"}
        assert (await search_results(access, what, {**SEARCHES[what], searched: entity}))["results"] == plain


@with_each("what", SEARCHES)
@with_each("entity", [{"type": "spaceship", "id": "alice"}, {"type": "user", "id": "nonexistent-user"}])
async def test_search_finds_nothing_for_what_is_unknown(access: Access, what: str, entity: Any) -> None:
    body = {**SEARCHES[what], "subject": entity}
    if what == "subject":
        body = {**SEARCHES[what], "subject": {"type": "spaceship"}}
    assert (await search_results(access, what, body))["results"] == []
    body = {**SEARCHES[what], "resource": {"type": "spaceship", "id": "x"}}
    assert (await search_results(access, what, body))["results"] == []


@with_each(
    ("what", "body"),
    [
        ("subject", {"subject": {"type": "user"}, "resource": FIRST}),
        ("subject", {"subject": {"type": "user"}, "action": READ, "resource": {"type": "record"}}),
        ("subject", {"subject": {}, "action": READ, "resource": FIRST}),
        ("resource", {"action": READ, "resource": {"type": "record"}}),
        ("resource", {"subject": {"type": "user"}, "action": READ, "resource": {"type": "record"}}),
        ("resource", {"subject": ALICE, "action": READ, "resource": {"id": "record-1"}}),
        ("action", {"subject": ALICE}),
        ("action", {"subject": {"type": "user"}, "resource": FIRST}),
        ("action", {"subject": ALICE, "resource": {"type": "record"}}),
        ("action", {**SEARCHES["action"], "page": {"limit": -1}}),
        ("action", {**SEARCHES["action"], "page": {"limit": "1"}}),
        ("action", {**SEARCHES["action"], "page": {"token": "nonsense"}}),
        ("action", {**SEARCHES["action"], "page": {"token": "\u00e9"}}),
        ("action", {**SEARCHES["action"], "page": []}),
    ],
)
async def test_search_needs_each_input_whole(access: Access, what: str, body: dict[str, Any]) -> None:
    answer = await access.ask(f"/access/v1/search/{what}", body, by="searcher")

    assert (answer.status, answer.code) == (400, "bad_request")


@with_each("what", SEARCHES)
async def test_search_pages_lead_to_all_results_once(access: Access, what: str) -> None:
    whole = await search_results(access, what, SEARCHES[what])
    pages = [await search_results(access, what, {**SEARCHES[what], "page": {"limit": 1}})]
    while token := pages[-1]["page"]["next_token"]:
        # The limit may be named again, or not.
        page = {"token": token} if len(pages) % 2 else {"token": token, "limit": 1}
        pages.append(await search_results(access, what, {**SEARCHES[what], "page": page}))

    assert whole["page"] == {"next_token": "", "count": len(whole["results"]), "total": len(whole["results"])}
    assert [result for page in pages for result in page["results"]] == whole["results"]
    assert {page["page"]["total"] for page in pages} == {len(whole["results"])}
    none = await search_results(access, what, {**SEARCHES[what], "page": {"limit": 0}})
    assert (none["results"], none["page"]["total"]) == ([], len(whole["results"]))


async def test_search_a_token_belongs_to_one_search(access: Access) -> None:
    first = await search_results(access, "action", {**SEARCHES["action"], "page": {"limit": 1}})
    token = first["page"]["next_token"]

    for body in (
        {"subject": BOB, "resource": FIRST, "page": {"token": token}},
        {**SEARCHES["action"], "page": {"token": token, "limit": 2}},
    ):
        answer = await access.ask("/access/v1/search/action", body, by="searcher")
        assert (answer.status, answer.code) == (400, "bad_request")


async def test_discovery_tells_the_endpoints_below_the_url_of_the_settings(access: Access) -> None:
    path = "/.well-known/authzen-configuration"
    answer = await access.service.as_anonymous("GET", path, ("Host", "evil.example"))

    assert (answer.status, answer.header("content-type")) == (200, "application/json")
    base = "https://access.example.com"
    assert answer.json == {
        "policy_decision_point": base,
        "access_evaluation_endpoint": f"{base}{EVALUATION}",
        "access_evaluations_endpoint": f"{base}{EVALUATIONS}",
        "search_subject_endpoint": f"{base}/access/v1/search/subject",
        "search_resource_endpoint": f"{base}/access/v1/search/resource",
        "search_action_endpoint": f"{base}/access/v1/search/action",
    }


async def test_discovery_needs_the_setting() -> None:
    with pytest.raises(NotFound):
        await AccessConfiguration("").on_get(None)  # type: ignore[arg-type]
