"""Public access to another service that ends: at its instant, whether or not anything runs then."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from service.features.services.ended_openings import CAUSE, close_ended
from service.records.database.transactions import Database
from service.settings import load
from tests.support.inside import Inside

READ = {
    "resourceName": "Read an order",
    "resourceCode": "orders.read",
    "method": "GET",
    "path": "/orders/{id}",
    "service": "orders",
}
QUESTION = {"method": "GET", "path": "/orders/7", "service": "orders"}
NAME = "orders GET /orders/{id}"


@pytest.fixture(autouse=True)
async def _paused(house: Inside) -> None:
    """The scheduler of the service would publish the policy without what has ended."""
    await house.data("PUT", "/api/jobs/ended-openings/paused", {"paused": True})


def soon(seconds: float = 5) -> tuple[str, float]:
    """Return an instant in whole seconds that comes in about ``seconds``, as text and as a number."""
    at = datetime.fromtimestamp(int(time.time() + seconds), UTC)
    return f"{at:%Y-%m-%dT%H:%M:%SZ}", at.timestamp()


def line(until: str) -> str:
    return f"p, resource, {NAME}, @anyone until {until}"


async def registered(house: Inside) -> int:
    await house.data("POST", "/api/service", {"name": "orders"})
    number: int = (await house.data("POST", "/api/resource", READ))["id"]
    return number


async def opened(house: Inside, until: str, code: str = "@anyone") -> Any:
    body = {"service": "orders", "resourceId": await registered(house), "code": code, "until": until}
    return await house.data("POST", "/api/opening", body)


async def opened_for_a_moment(house: Inside) -> tuple[Any, str, float]:
    """Open it; return what was saved, and when it ends, as text and as a number."""
    number = await registered(house)
    until, end = soon()
    body = {"service": "orders", "resourceId": number, "code": "@anyone", "until": until}
    return await house.data("POST", "/api/opening", body), until, end


async def decision(house: Inside) -> tuple[bool, str]:
    explained = await house.data("POST", "/api/policy/explain", QUESTION)
    return explained["allowed"], explained["resource"]["decisionId"]


async def test_public_access_ends_at_its_instant_and_decision_ids_say_so(house: Inside) -> None:
    made, until, end = await opened_for_a_moment(house)
    assert made["until"] == until.replace("Z", ".000Z")
    revision = made["policyRevision"]
    answers: list[tuple[float, bool, str, float]] = []
    while not answers or answers[-1][0] < end + 0.5:  # the last question is surely of after the end
        began = time.time()
        answers.append((began, *(await decision(house)), time.time()))
        await asyncio.sleep(0.02)
    before = [answer for answer in answers if answer[3] < end - 0.1]
    after = [answer for answer in answers if answer[0] >= end + 0.1]
    assert before
    assert after
    assert {(allowed, name.partition("-")[0]) for _, allowed, name, _ in before} == {(True, f"r{revision}")}
    assert {(allowed, name.partition("-")[0]) for _, allowed, name, _ in after} == {(False, f"r{revision}.1")}


async def test_the_same_question_is_explained_as_it_was_decided_before_and_after_the_end(
    house: Inside,
) -> None:
    _, _, end = await opened_for_a_moment(house)
    allowed, first = await decision(house)
    assert allowed
    await asyncio.sleep(end - time.time() + 0.05)
    allowed, second = await decision(house)
    assert not allowed
    for name, expected in ((first, True), (second, False)):
        explained = await house.data("POST", "/api/policy/explain", QUESTION | {"decisionId": name})
        assert (explained["allowed"], explained["decisionMatches"]) == (expected, True)
    # Also of a revision that is in force no more, of which only the lines about the request are read.
    await house.data("POST", "/api/opening", {"service": "orders", "code": "@login"})
    for name, expected in ((first, True), (second, False)):
        explained = await house.data("POST", "/api/policy/explain", QUESTION | {"decisionId": name})
        assert (explained["allowed"], explained["decisionMatches"]) == (expected, True)


async def test_the_job_publishes_the_policy_without_what_has_ended(house: Inside) -> None:
    made, until, end = await opened_for_a_moment(house)
    settings = load(
        {
            "PORTCULLIS_CONFIG": "",
            "REDIS_URL": house.redis_url,
            "JWT_SECRET": "hinges-2-portals-7-winches-4-chains-9",
        }
    )
    async with Database(house.database_url, pool_size=3) as database:
        assert await close_ended(database, settings) == "no public access has ended"
        await asyncio.sleep(end - time.time() + 0.05)
        assert await close_ended(database, settings) == "1 openings ended"
    newest = (await house.data("GET", "/api/policy/revisions"))["items"][0]
    assert (newest["revision"], newest["cause"]) == (made["policyRevision"] + 1, CAUSE)
    changes = await house.data(
        "GET", f"/api/policy/diff?from={made['policyRevision']}&to={newest['revision']}"
    )
    assert line(until) in str(changes)


async def test_what_has_ended_makes_way_for_public_access_to_the_same(house: Inside) -> None:
    made, _, end = await opened_for_a_moment(house)
    again = {"service": "orders", "resourceId": made["resourceId"], "code": "@anyone"}
    assert (await house.ask("POST", "/api/opening", again)).status == 409
    await asyncio.sleep(end - time.time() + 0.05)
    assert (await house.data("POST", "/api/opening", again))["until"] is None
    assert (await decision(house))[0]


ENDS = [
    "2020-01-01T00:00:00Z",
    "2099-01-01T00:00:00",
    "2099-01-01T00:00:00.5Z",
    "2099-02-30T00:00:00Z",
    "now",
]


async def test_an_end_is_a_later_instant_with_a_zone_in_whole_seconds(house: Inside) -> None:
    opening = {"service": "orders", "resourceId": await registered(house), "code": "@anyone"}
    for until in ENDS:
        refused = await house.ask("POST", "/api/opening", opening | {"until": until})
        assert (refused.status, refused.json["errors"][0]["field"]) == (422, "until"), until


async def test_lists_and_lines_show_the_end_and_it_can_be_asked_for(house: Inside) -> None:
    made = await opened(house, "2099-01-01T02:00:00+02:00", "@login")
    assert made["until"] == "2099-01-01T00:00:00.000Z"
    await house.data("POST", "/api/opening", {"service": "orders", "code": "@login"})

    async def listed(query: str) -> list[str]:
        return [item["object"] for item in (await house.data("GET", f"/api/opening/list?{query}"))["items"]]

    assert await listed("endsBefore=2099-01-02T00:00:00Z") == [NAME]
    assert await listed("endsBefore=2099-01-01T00:00:00Z") == []
    assert await listed("endless=true") == ["orders @unregistered"]
    assert await listed("endless=false") == [NAME]


async def test_no_end_is_set_while_a_worker_knows_none(house: Inside) -> None:
    number = await registered(house)
    house.beside().execute(
        "INSERT INTO sys.policy_worker (worker, revision, facts)"
        """ VALUES ('old-1', 1, '{"version": "0.2.0", "settings": {}, "parts": {}}')"""
    )
    body = {"service": "orders", "resourceId": number, "code": "@anyone"}
    refused = await house.ask("POST", "/api/opening", body | {"until": "2099-01-01T00:00:00Z"})
    house.beside().execute("DELETE FROM sys.policy_worker WHERE worker = 'old-1'")
    assert (refused.status, refused.json["rule"]) == (409, "older_nodes")
    await house.data("POST", "/api/opening", body)


async def test_no_version_publishes_a_line_without_the_end_that_is_stored(house: Inside) -> None:
    await opened(house, "2099-01-01T00:00:00Z")
    connection = house.beside()
    connection.execute("UPDATE sys.casbin_rule SET v2 = '@anyone' WHERE v2 LIKE '@anyone until %'")
    with pytest.raises(psycopg.errors.RaiseException, match="no ends of public access"):
        connection.execute(
            "INSERT INTO sys.policy_revision (revision, digest, line_count, cause)"
            " SELECT max(revision) + 1, repeat('0', 64), 1, 'x' FROM sys.policy_revision"
        )


async def test_a_restore_brings_the_end_back_and_nothing_that_has_ended_opens(house: Inside) -> None:
    made, _, end = await opened_for_a_moment(house)
    later = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
    await house.data("DELETE", f"/api/opening/{made['id']}")
    body = {"service": "orders", "resourceId": made["resourceId"], "code": "@login", "until": later}
    other = await house.data("POST", "/api/opening", body)
    await asyncio.sleep(end - time.time() + 0.05)
    await house.data("POST", f"/api/policy/revisions/{made['policyRevision']}/restore")
    assert not (await decision(house))[0]
    await house.data("POST", f"/api/policy/revisions/{other['policyRevision']}/restore")
    (shown,) = (await house.data("GET", "/api/opening/list"))["items"]
    assert (shown["code"], shown["until"]) == ("@login", later.replace("Z", ".000Z"))
