"""Changes of the policy on four workers: how many decide by it, and none by an older revision."""

import asyncio
import json
from collections import Counter
from time import monotonic
from typing import Any

import httpx
import psycopg
import pytest

from tests.policy_publishing.conftest import PASSWORD, Workers
from tests.support.inside import Inside
from tests.support.raw import Seen, log_in, request, send

INFO = "/api/user/info"
GET = f"GET {INFO} HTTP/1.1"
CHANGES = 8
CLIENTS = 6
PROBES = 10
"""Requests that are sent at once as soon as a change has been answered."""


def ids(url: str) -> tuple[int, int]:
    """Return the id of the resource that logged-in users can read, and of a Button that few users hold."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT r.id, m.id FROM sys.resource r, sys.menu m"
            " WHERE r.path = %s AND m.auth_mark = 'system:file:share'",
            (INFO,),
        ).fetchone()
    assert row is not None
    return row[0], row[1]


class Trial:
    """Changes and load at once, and all that was answered."""

    def __init__(self, port: int, admin: str, newcomer: str, revision: int, *, probes: int) -> None:
        """``revision`` is the one in force; by it the newcomer may read. ``probes`` follow each change."""
        self.port, self.admin, self.newcomer = port, admin, newcomer
        self.opens = {revision: True}
        self.changed = [(0.0, revision)]
        self.seen: list[Seen] = []
        self.waited: list[tuple[int, Seen]] = []
        self.probes: list[tuple[int, Seen]] = []
        self._per_change = probes
        self._done = asyncio.Event()

    async def run(self, resource: int, button: int, changes: int) -> None:
        """Bind and unbind the resource, and send requests that this allows and refuses."""
        load = (self._load() for _ in range(CLIENTS))
        await asyncio.gather(self._change(resource, button, changes), self._load_by_revision(), *load)

    def decided_by_an_older(self) -> list[tuple[int, Seen]]:
        """Return the requests sent after the answer to a change, with its revision, that went by an older."""
        return [
            *((least, answer) for least, answer in [*self.waited, *self.probes] if answer.revision < least),
            *(
                (least, answer)
                for answer in self.seen
                for at, least in self.changed
                if answer.sent > at and answer.revision < least
            ),
        ]

    async def _change(self, resource: int, button: int, changes: int) -> None:
        put = f"PUT /api/resource/{resource}/buttons HTTP/1.1"
        for number in range(changes):
            bound = [button] if number % 2 == 0 else []
            saved = await send(self.port, request(put, self.admin, body={"menuIds": bound}))
            assert saved.status == 200, saved.body
            assert saved.data["policyRevision"] == saved.revision
            self.opens[saved.revision] = not bound
            self.changed.append((monotonic(), saved.revision))
            sent = (send(self.port, request(GET, self.newcomer)) for _ in range(self._per_change))
            self.probes += [(saved.revision, answer) for answer in await asyncio.gather(*sent)]
        self._done.set()

    async def _load(self) -> None:
        while not self._done.is_set():
            self.seen.append(await send(self.port, request(GET, self.newcomer)))

    async def _load_by_revision(self) -> None:
        while not self._done.is_set():
            revision = self.changed[-1][1]
            least = f"X-Policy-Min-Revision: {revision}"
            self.waited.append((revision, await send(self.port, request(GET, self.newcomer, least))))


async def tried(workers: Workers, changes: int, probes: int) -> Trial:
    port = workers.service.port
    admin, newcomer = await log_in(port, "admin", PASSWORD), await log_in(port, "newcomer", PASSWORD)
    resource, button = ids(workers.database_url)
    put = f"PUT /api/resource/{resource}/buttons HTTP/1.1"
    unbound = await send(port, request(put, admin, body={"menuIds": []}))
    for _ in range(20):  # so that each worker has been met
        assert (await send(port, request(GET, newcomer))).status == 200
    trial = Trial(port, admin, newcomer, unbound.revision, probes=probes)
    await trial.run(resource, button, changes)
    return trial


async def test_no_request_sent_after_the_answer_to_a_change_is_decided_by_an_older_revision(
    workers: Workers,
) -> None:
    trial = await tried(workers, CHANGES, PROBES)

    assert len(trial.opens) == CHANGES + 1
    assert len(trial.probes) == PROBES * CHANGES
    answers = [*trial.seen, *(answer for _, answer in [*trial.waited, *trial.probes])]
    for reply in answers:
        assert reply.status == (200 if trial.opens[reply.revision] else 403), reply
        if reply.status == 403:
            assert json.loads(reply.body)["decisionId"].startswith(f"r{reply.revision}-")
    assert trial.decided_by_an_older() == []


@pytest.mark.extended
async def test_none_of_five_thousand_requests_is_decided_by_an_older_revision(workers: Workers) -> None:
    began = monotonic()
    trial = await tried(workers, 100, 50)

    older = trial.decided_by_an_older()
    print(  # noqa: T201 - the figure is what this test is run for
        f"{len(trial.probes)} requests sent at once after {len(trial.opens) - 1} changes, beside"
        f" {len(trial.seen) + len(trial.waited)} others in {monotonic() - began:.0f} s:"
        f" {len(older)} decided by an older revision"
    )
    assert len(trial.probes) == 5_000
    assert {answer.status for _, answer in trial.probes} == {200, 403}
    assert older == []


async def test_every_worker_tells_its_revision(workers: Workers) -> None:
    port = workers.service.port
    admin = await log_in(port, "admin", PASSWORD)

    async def reported() -> tuple[int, list[tuple[int, str | None]]]:
        policy = (await send(port, request("GET /api/policy HTTP/1.1", admin))).data
        return policy["revision"], [(item["revision"], item["fault"]) for item in policy["workers"]]

    async with asyncio.timeout(20):
        # A worker may still be starting, or at its report.
        while (matches := await reported()) != (matches[0], [(matches[0], None)] * 4):  # noqa: ASYNC110
            await asyncio.sleep(0.1)


IN_FORCE = "X-Policy-In-Force"
REPORT = {
    "resourceName": "Read a report",
    "resourceCode": "report.count",
    "method": "GET",
    "path": "/api/count",
}


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


async def test_the_header_is_documented_where_a_change_answers_with_its_revision(shared: Inside) -> None:
    document = (await shared.ask("GET", "/docs/openapi.json")).json
    schemas = document["components"]["schemas"]
    declared, published = set(), set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            # The last one is that of the write: a dry run is answered 200, also where the write is 201.
            *_, success = (
                response for status, response in operation["responses"].items() if status[0] == "2"
            )
            if IN_FORCE in success.get("headers", {}):
                declared.add((method, path))
            schema = success.get("content", {}).get("application/json", {}).get("schema", {})
            # The data of an answer may have several forms.
            data = [form.get("properties", {}).get("data", {}) for form in forms(schemas, schema)]
            if method != "get" and any(
                "policyRevision" in form.get("properties", {})
                for data_schema in data
                for form in forms(schemas, data_schema)
            ):
                published.add((method, path))
    # A review publishes only with a code that no review had before, and tells the revision in the header.
    assert declared - {("post", "/api/review")} == published
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


@pytest.mark.parametrize("changes", [6, pytest.param(200, marks=pytest.mark.extended)])
async def test_an_answer_that_names_an_older_revision_was_given_before_anybody_was_authenticated(
    workers: Workers, changes: int
) -> None:
    """Public routes and refusals of tokens wait for no revision: none decides them. Each route is printed."""
    port = workers.service.port
    admin, newcomer = await log_in(port, "admin", PASSWORD), await log_in(port, "newcomer", PASSWORD)
    resource, button = ids(workers.database_url)
    list_all = "GET /api/resource/list HTTP/1.1"
    asked = {
        "guarded": request(GET, newcomer),
        "guarded, a list": request(list_all, admin),
        "guarded, refused": request(list_all, newcomer),
        "guarded, unknown": request("GET /api/resource/999999 HTTP/1.1", admin),
        "public": request("POST /api/auth/refresh HTTP/1.1", "", body={"refreshToken": "of nobody"}),
        "no good token": request(GET, "nobody.nobody.nobody"),
    }
    older: Counter[tuple[str, int]] = Counter()
    for number in range(changes):
        body = {"menuIds": [button] if number % 2 == 0 else []}
        put = f"PUT /api/resource/{resource}/buttons HTTP/1.1"
        saved = await send(port, request(put, admin, body=body))
        assert saved.status == 200, saved.body
        sent = [(route, send(port, text)) for route, text in asked.items() for _ in range(4)]
        answers = await asyncio.gather(*(answer for _, answer in sent))
        for (route, _), answer in zip(sent, answers, strict=True):
            older[route, answer.status] += 0 < answer.revision < saved.revision
    print({route: count for route, count in older.items() if count})  # noqa: T201 - what it is run for
    assert {status for (route, status), _ in older.items() if route.startswith("guarded")} >= {200, 403, 404}
    assert {route for (route, _), count in older.items() if count} <= {"public", "no good token"}
