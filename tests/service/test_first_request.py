"""From the first start to a request that is allowed and one that is refused, as a stranger meets them."""

from __future__ import annotations

import re
from typing import Any

import httpx

from tests.service.callers import PASSWORD, log_in
from tests.service.conftest import External
from tests.support.cases import with_each
from tests.support.running import portcullis
from tests.support.waiting import eventually

ROLE_LIST = "/api/role/list"
REQUIRED = ["system:role:list", "system:user:create", "system:user:update"]


def problem(answer: httpx.Response) -> dict[str, Any]:
    """Return the problem document of an answer, its form checked."""
    assert answer.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert document["status"] == answer.status_code
    assert document["requestId"] == answer.headers["x-request-id"]
    assert document["type"] == f"/docs/errors#{document['code'].replace('_', '-')}"
    return document


def test_the_administrator_logs_in_and_reads_a_page_of_roles(client: httpx.Client) -> None:
    answer = client.get(ROLE_LIST, headers=log_in(client))
    assert answer.status_code == 200
    page = answer.json()["data"]
    assert {name: page[name] for name in ("page", "size", "total")} == {"page": 1, "size": 20, "total": 4}
    assert [role["roleCode"] for role in page["items"]] == ["super", "admin", "auditor", "user"]
    fields = {"id", "roleName", "roleCode", "description", "enabled", "version"}
    fields |= {"maxDuration", "reasonRequired", "createTime", "updateTime", "updatedBy"}
    assert all(role.keys() == fields for role in page["items"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", page["items"][0]["createTime"])


def test_a_login_answers_with_both_tokens_and_the_life_of_one(client: httpx.Client) -> None:
    answer = client.post("/api/auth/login", json={"userName": "admin", "password": PASSWORD})
    assert answer.json().keys() == {"data"}
    assert answer.json()["data"].keys() == {"accessToken", "refreshToken", "expiresIn"}
    assert answer.json()["data"]["expiresIn"] == 7200


def test_callers_read_their_own_account(client: httpx.Client) -> None:
    answer = client.get("/api/user/info", headers=log_in(client))
    account = answer.json()["data"]
    assert (account["userName"], account["roles"], account["permissions"]) == ("admin", ["super"], ["*"])


def test_without_a_token_the_answer_is_401(client: httpx.Client) -> None:
    answer = client.get(ROLE_LIST)
    assert (answer.status_code, problem(answer)["code"]) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


@with_each("token", ["x", "a.b.c", "null", "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0."])
def test_a_made_up_token_is_refused_as_such(client: httpx.Client, token: str) -> None:
    answer = client.get(ROLE_LIST, headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, problem(answer)["code"]) == (401, "token_invalid")
    assert answer.headers["www-authenticate"] == 'Bearer error="invalid_token"'


def test_a_refresh_token_opens_nothing(client: httpx.Client) -> None:
    pair = client.post("/api/auth/login", json={"userName": "admin", "password": PASSWORD}).json()["data"]
    answer = client.get(ROLE_LIST, headers={"Authorization": f"Bearer {pair['refreshToken']}"})
    assert (answer.status_code, problem(answer)["code"]) == (401, "token_invalid")


def test_a_user_without_the_code_is_told_which_code_is_missing(client: httpx.Client, newcomer: str) -> None:
    answer = client.get(ROLE_LIST, headers=log_in(client, newcomer))
    refusal = problem(answer)
    assert (answer.status_code, refusal["code"]) == (403, "permission_denied")
    assert refusal["layer"] == "resource"
    assert refusal["required"] == REQUIRED
    assert re.fullmatch(r"[\w.:-]{8,}", refusal["decisionId"])


def test_users_without_any_code_still_read_their_own_account(client: httpx.Client, newcomer: str) -> None:
    answer = client.get("/api/user/info", headers=log_in(client, newcomer))
    account = answer.json()["data"]
    assert (account["userName"], account["roles"], account["permissions"]) == (newcomer, [], [])


def test_a_name_is_given_to_one_user_only(external: External, newcomer: str) -> None:
    arguments = ("admin", "create", newcomer.upper())
    done = portcullis(external.folder, *arguments, given=f"{PASSWORD}\n", **external.variables)
    assert (done.status, done.errors) == (1, "portcullis: The user name is taken\n")


def test_an_allowed_and_a_refused_answer_name_the_policy_revision(
    client: httpx.Client, newcomer: str
) -> None:
    administrator = log_in(client)
    allowed = client.get(ROLE_LIST, headers=administrator)
    refused = client.get(ROLE_LIST, headers=log_in(client, newcomer))
    revision = str(client.get("/api/policy", headers=administrator).json()["data"]["revision"])
    assert allowed.headers["x-policy-revision"] == refused.headers["x-policy-revision"] == revision


def test_an_unknown_user_and_a_wrong_password_are_answered_alike(client: httpx.Client) -> None:
    wrong = {"userName": "admin", "password": "not the password"}
    unknown = {"userName": "nobody-of-this-name", "password": PASSWORD}
    answers = [client.post("/api/auth/login", json=body) for body in (wrong, unknown)]
    documents = [problem(answer) for answer in answers]
    for answer, document in zip(answers, documents, strict=True):
        assert (answer.status_code, document["code"]) == (401, "login_failed")
        document.pop("requestId")
        for name in ("date", "x-request-id"):
            answer.headers.pop(name)
    assert documents[0] == documents[1]
    assert answers[0].headers == answers[1].headers


def test_the_service_says_that_it_is_ready_and_with_what(client: httpx.Client) -> None:
    vital = ("database", "sessions", "policy", "clock")
    names = (*vital, "files", "logs", "jobs", "disk", "certificates", "proxy")
    expected = {"status": "ready", "parts": dict.fromkeys(names, "up")}
    # A part that takes long to look at, on a busy machine, is down for a moment.
    assert eventually(lambda: client.get("/health/ready").json().get("data") == expected)


def test_what_is_not_there_is_a_problem_document_too(client: httpx.Client) -> None:
    nothing = client.get("/api/nothing", headers=log_in(client))
    assert (nothing.status_code, problem(nothing)["code"]) == (404, "not_found")
    wrong_method = client.delete(ROLE_LIST, headers=log_in(client))
    assert (wrong_method.status_code, problem(wrong_method)["code"]) == (405, "method_not_allowed")
    assert wrong_method.headers["allow"] == "GET"
