"""The answer to a change says how many workers decide by it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.policy_publishing.conftest import PASSWORD, Workers
from tests.support.inside import Inside

IN_FORCE = "X-Policy-In-Force"
REPORT = {
    "resourceName": "Read a report",
    "resourceCode": "report.count",
    "method": "GET",
    "path": "/api/count",
}


@pytest.mark.anyio
async def test_the_only_worker_is_one_of_one(shared: Inside) -> None:
    made = await shared.ask("POST", "/api/resource", REPORT)
    assert (made.status, made.header(IN_FORCE.lower())) == (201, "1/1")
    refused = await shared.ask("POST", "/api/resource", REPORT)
    assert (refused.status, refused.header(IN_FORCE.lower())) == (409, None)


def forms(schemas: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas that a value may have, references followed."""
    found = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return [form for one in found["anyOf"] for form in forms(schemas, one)] if "anyOf" in found else [found]


@pytest.mark.anyio
async def test_the_header_is_documented_where_a_change_answers_with_its_revision(shared: Inside) -> None:
    document = (await shared.ask("GET", "/docs/openapi.json")).json
    schemas = document["components"]["schemas"]
    told, published = set(), set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            success = next(found for status, found in operation["responses"].items() if status[0] == "2")
            if IN_FORCE in success.get("headers", {}):
                told.add((method, path))
            schema = success["content"].get("application/json", {}).get("schema", {})
            # A write that knows dry runs has two forms of answers, and so may the data of one form.
            data = [form.get("properties", {}).get("data", {}) for form in forms(schemas, schema)]
            if method != "get" and any(
                "policyRevision" in form.get("properties", {}) for one in data for form in forms(schemas, one)
            ):
                published.add((method, path))
    assert told == published
    assert ("put", "/api/resource/{id}/buttons") in told


def test_all_workers_are_counted(workers: Workers) -> None:
    with workers.service.client() as client:
        login = client.post("/api/auth/login", json={"userName": "admin", "password": PASSWORD}).json()
        client.headers["Authorization"] = f"Bearer {login['data']['accessToken']}"
        made = client.post("/api/resource", json=REPORT)
        assert made.status_code == 201, made.text
        told = [made.headers[IN_FORCE]]
        resource = made.json()["data"]["id"]
        for number in range(20):  # a worker that is busy elsewhere may be late once
            if told[-1] == "4/4":
                break
            state = {"enabled": number % 2 == 1}
            told.append(client.put(f"/api/resource/{resource}/enabled", json=state).headers[IN_FORCE])
        assert client.delete(f"/api/resource/{resource}").status_code == httpx.codes.OK
    assert told[-1] == "4/4", told
