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
    resolved = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return (
        [form for alternative in resolved["anyOf"] for form in forms(schemas, alternative)]
        if "anyOf" in resolved
        else [resolved]
    )


@pytest.mark.anyio
async def test_the_header_is_documented_where_a_change_answers_with_its_revision(shared: Inside) -> None:
    document = (await shared.ask("GET", "/docs/openapi.json")).json
    schemas = document["components"]["schemas"]
    declared, published = set(), set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            success = next(
                response for status, response in operation["responses"].items() if status[0] == "2"
            )
            if IN_FORCE in success.get("headers", {}):
                declared.add((method, path))
            schema = success["content"].get("application/json", {}).get("schema", {})
            # A write that knows dry runs has two forms of answers, and so may the data of one form.
            data = [form.get("properties", {}).get("data", {}) for form in forms(schemas, schema)]
            if method != "get" and any(
                "policyRevision" in form.get("properties", {})
                for data_schema in data
                for form in forms(schemas, data_schema)
            ):
                published.add((method, path))
    assert declared == published
    assert ("put", "/api/resource/{id}/buttons") in declared


def test_all_workers_are_counted(workers: Workers) -> None:
    with workers.service.client() as client:
        login = client.post("/api/auth/login", json={"userName": "admin", "password": PASSWORD}).json()
        client.headers["Authorization"] = f"Bearer {login['data']['accessToken']}"
        made = client.post("/api/resource", json=REPORT)
        assert made.status_code == 201, made.text
        counts = [made.headers[IN_FORCE]]
        resource = made.json()["data"]["id"]
        for number in range(20):  # a worker that is busy elsewhere may be late once
            if counts[-1] == "4/4":
                break
            state = {"enabled": number % 2 == 1}
            counts.append(client.put(f"/api/resource/{resource}/enabled", json=state).headers[IN_FORCE])
        assert client.delete(f"/api/resource/{resource}").status_code == httpx.codes.OK
    assert counts[-1] == "4/4", counts
