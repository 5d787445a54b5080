"""What the service writes while it works: one line of JSON a request, and no secret in it."""

from __future__ import annotations

import re

import httpx

from tests.service.callers import PASSWORD, log_in
from tests.service.conftest import External
from tests.support.running import Running
from tests.support.without import is_off

ROLE_LIST = "/api/role/list"


def test_each_request_has_one_line_under_the_id_that_the_client_gave(
    service: Running, client: httpx.Client, administrator: dict[str, str]
) -> None:
    client.get(f"{ROLE_LIST}?size=2", headers=administrator | {"X-Request-Id": "from-a.client_1"})
    line = service.line_of("from-a.client_1")
    assert {name: line[name] for name in ("method", "path", "status", "level")} == {
        "method": "GET",
        "path": ROLE_LIST,
        "status": 200,
        "level": "info",
    }
    assert line["ms"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert sum(line.get("request_id") == "from-a.client_1" for line in service.log) == 1


def test_an_id_that_could_forge_a_line_is_replaced(service: Running, client: httpx.Client) -> None:
    for forged in (b'x"}', b"a b", b"x" * 65, "é".encode()):
        answer = client.get("/health/live", headers=[(b"X-Request-Id", forged)])
        assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-request-id"])
        assert service.line_of(answer.headers["x-request-id"])["status"] == 200


def test_the_line_of_a_refused_request_says_who_was_refused_and_by_which_decision(
    service: Running, client: httpx.Client, newcomer: str
) -> None:
    answer = client.get(ROLE_LIST, headers=log_in(client, newcomer))
    line = service.line_of(answer.headers["x-request-id"])
    assert (line["denied"], line["decision"]) == ("resource", answer.json()["decisionId"])
    assert line["user_id"] > 1


def test_no_line_holds_a_password_a_token_or_a_secret(external: External, client: httpx.Client) -> None:
    service = external.running
    pair = client.post("/api/auth/login", json={"userName": "admin", "password": PASSWORD}).json()["data"]
    for token in (pair["accessToken"], pair["refreshToken"]):
        answer = client.get(ROLE_LIST, headers={"Authorization": f"Bearer {token}"})
        service.line_of(answer.headers["x-request-id"])
    written = service.output + service.errors
    for secret in (PASSWORD, *pair["accessToken"].split("."), *pair["refreshToken"].split(".")):
        assert secret not in written
    assert external.variables["JWT_SECRET"] not in written


def test_the_banner_says_where_the_service_is_and_what_it_uses(service: Running) -> None:
    rows = dict(re.findall(r"^  (\S+(?: \S+)*) {2,}(\S.*)$", service.errors, re.MULTILINE))
    assert rows["listening"] == service.url
    assert rows.get("API docs") == (None if is_off("pages") else f"{service.url}/docs")
    assert rows["database"] == "external PostgreSQL"
    assert rows["sessions"] == "external session store"
