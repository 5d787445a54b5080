"""What the service writes while it works: one line of JSON a request, and no secret in it."""

import re

import httpx

from tests.service.callers import PASSWORD
from tests.service.conftest import External
from tests.support.running import Running
from tests.support.without import is_off

ROLE_LIST = "/api/role/list"


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
