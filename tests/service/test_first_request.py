"""From the first start to a request that is allowed and one that is refused, as a stranger meets them."""

import re
from typing import Any

import httpx

from tests.service.callers import PASSWORD, log_in

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
    fields |= {
        "maxDuration",
        "reasonRequired",
        "personalKeys",
        "maxDelegation",
        "createTime",
        "updateTime",
        "updatedBy",
    }
    fields |= {"userCount", "permissionCount"}
    assert all(role.keys() == fields for role in page["items"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", page["items"][0]["createTime"])


def test_without_a_token_the_answer_is_401(client: httpx.Client) -> None:
    answer = client.get(ROLE_LIST)
    assert (answer.status_code, problem(answer)["code"]) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_user_without_the_code_is_told_which_code_is_missing(client: httpx.Client, newcomer: str) -> None:
    answer = client.get(ROLE_LIST, headers=log_in(client, newcomer))
    refusal = problem(answer)
    assert (answer.status_code, refusal["code"]) == (403, "permission_denied")
    assert refusal["layer"] == "resource"
    assert refusal["required"] == REQUIRED
    assert re.fullmatch(r"[\w.:-]{8,}", refusal["decisionId"])


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


def test_what_is_not_there_is_a_problem_document_too(client: httpx.Client) -> None:
    nothing = client.get("/api/nothing", headers=log_in(client))
    assert (nothing.status_code, problem(nothing)["code"]) == (404, "not_found")
    wrong_method = client.delete(ROLE_LIST, headers=log_in(client))
    assert (wrong_method.status_code, problem(wrong_method)["code"]) == (405, "method_not_allowed")
    assert wrong_method.headers["allow"] == "GET"
