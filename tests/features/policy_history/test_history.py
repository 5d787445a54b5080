"""What revisions changed, who asked for it, and how a past one would have decided."""

from dataclasses import dataclass
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.inside import Inside, inside
from tests.support.members import query

EXPLAIN = "/api/policy/explain"
REPORT = {
    "resourceName": "Read a report",
    "resourceCode": "report",
    "method": "GET",
    "path": "/api/report/{id}",
}


async def execute(service: Inside, statement: str) -> None:
    await query(service, statement)


async def button(service: Inside, code: str) -> int:
    page = await service.data("GET", f"/api/menu/list?authMark={code}")
    return next(int(menu["id"]) for menu in page["items"] if menu["authMark"] == code)


QUESTION = {"method": "GET", "path": "/api/report/7", "permissions": ["system:user:list"]}
DECIDED = {"method": "GET", "path": "/api/user/list", "permissions": ["system:role:list"]}
GRANT = {"grant": "report:detail", "permissions": ["*"]}


@dataclass(frozen=True)
class Past:
    """A service after the revisions 2 to 5: a resource was registered, bound and deleted, and a Button made.

    ``request_id`` is that of the first of these requests, ``told`` are the answers to ``QUESTION`` while the
    revisions 2 to 4 were in force, and ``decision_id`` is that of ``DECIDED`` at revision 1.
    """

    service: Inside
    request_id: str
    reported: list[Any]
    decision_id: str


@pytest.fixture(scope="module")
async def past(shared: Inside) -> Past:
    decision_id = (await shared.data("POST", EXPLAIN, DECIDED))["resource"]["decisionId"]
    answer = await shared.ask("POST", "/api/resource", REPORT)
    assert answer.status == 201
    resource = f"/api/resource/{answer.json['data']['id']}"
    explanations = [await shared.data("POST", EXPLAIN, QUESTION)]
    menus = {"menuIds": [await button(shared, "system:role:list")]}
    await shared.data("PUT", f"{resource}/buttons", menus, ("If-Match", "*"))
    explanations.append(await shared.data("POST", EXPLAIN, QUESTION))
    await shared.data("DELETE", resource, None, ("If-Match", "*"))
    explanations.append(await shared.data("POST", EXPLAIN, QUESTION))
    menu = {"menuType": "Button", "title": "Reports", "authMark": "report:detail"}
    await shared.data("POST", "/api/menu", menu)
    return Past(shared, dict(answer.headers)["x-request-id"], explanations, decision_id)


async def test_each_revision_is_told_with_who_why_and_by_which_request(past: Past) -> None:
    page = await past.service.data("GET", "/api/policy/revisions?size=1&page=4")

    (second,) = page["items"]
    assert (page["total"], second["revision"], second["added"], second["removed"]) == (5, 2, 2, 0)
    assert (second["userName"], second["cause"]) == ("admin", "GET /api/report/{id} registered by admin")
    assert second["requestId"] == past.request_id
    (first,) = (await past.service.data("GET", "/api/policy/revisions?size=1&page=5"))["items"]
    assert (first["revision"], first["userName"], first["requestId"]) == (1, None, None)
    assert first["cause"] == "start"
    assert first["added"] > 50
    (newest,) = (await past.service.data("GET", "/api/policy/revisions?size=1"))["items"]
    assert newest["revision"] == 5


async def test_the_lines_of_revisions_and_what_lies_between_them_are_told(past: Past) -> None:
    service = past.service
    opened = "p, resource, GET /api/report/{id}, @login"
    bound = "p, resource, GET /api/report/{id}, system:role:list"
    demand = "p, assurance, resource GET /api/report/{id}, @anyone"

    changes = {}
    for number in (2, 3, 4):
        revision = await service.data("GET", f"/api/policy/revisions/{number}")
        changes[number] = (revision["addedLines"], revision["removedLines"])
    across = await service.data("GET", "/api/policy/diff?from=2&to=3")
    back = await service.data("GET", "/api/policy/diff?from=3&to=1")
    nothing = await service.data("GET", "/api/policy/diff?from=1&to=4")

    assert changes == {2: ([opened, demand], []), 3: ([bound], [opened]), 4: ([], [bound, demand])}
    assert (across["from"], across["to"]) == (2, 3)
    assert (across["addedLines"], across["removedLines"]) == ([bound], [opened])
    assert (back["addedLines"], back["removedLines"]) == ([], [bound, demand])
    assert (nothing["addedLines"], nothing["removedLines"]) == ([], [])


async def test_revisions_that_nobody_has_published_are_refused(shared: Inside) -> None:
    assert (await shared.ask("GET", "/api/policy/revisions/9")).code == "not_found"
    assert (await shared.ask("GET", "/api/policy/diff?from=1&to=9")).fields == ["to"]
    assert (await shared.ask("GET", "/api/policy/diff?from=9&to=1")).fields == ["from"]
    assert (await shared.ask("GET", "/api/policy/diff?from=1")).fields == ["to"]
    question = {"method": "GET", "path": "/api/role/list"}
    assert (await shared.ask("POST", EXPLAIN, question | {"revision": 9})).fields == ["revision"]
    unknown = question | {"decisionId": "r9-00000000-000000000000"}
    assert (await shared.ask("POST", EXPLAIN, unknown)).code == "conflict"  # of another static policy
    assert (await shared.ask("POST", EXPLAIN, question | {"decisionId": "r9"})).fields == ["decisionId"]


async def test_a_past_revision_answers_as_it_did_when_it_was_in_force(past: Past) -> None:
    again = [
        await past.service.data("POST", EXPLAIN, QUESTION | {"revision": number}) for number in (2, 3, 4)
    ]

    assert again == past.reported
    assert [explanation["resource"]["allowed"] for explanation in again] == [True, False, True]
    assert [explanation["resource"]["object"] for explanation in again] == ["GET /api/report/{id}"] * 2 + [
        "@unregistered"
    ]


async def test_a_past_decision_is_found_by_its_id_when_the_question_is_the_one_it_answered(
    past: Past,
) -> None:
    service, named = past.service, {"decisionId": past.decision_id}

    same = await service.data("POST", EXPLAIN, DECIDED | named)
    held = {"permissions": ["system:role:update"]}
    other = await service.data("POST", EXPLAIN, DECIDED | held | named)
    mixed = await service.ask("POST", EXPLAIN, DECIDED | named | {"revision": 2})

    assert (same["revision"], same["decisionMatches"]) == (1, True)
    assert same["resource"]["decisionId"] == past.decision_id
    assert (other["revision"], other["decisionMatches"]) == (1, False)
    assert mixed.fields == ["revision"]


async def test_a_past_grant_is_explained_too(past: Past) -> None:
    before = await past.service.data("POST", EXPLAIN, GRANT | {"revision": 4})
    after = await past.service.data("POST", EXPLAIN, GRANT | {"revision": 5})

    assert (before["allowed"], after["allowed"]) == (False, True)


@pytest.mark.feature("metrics")
async def test_lines_changed_past_the_service_are_replaced_told_and_counted(
    seeded_database_url: str, redis_url: str
) -> None:
    token = "mX3-" * 8
    async with inside(seeded_database_url, redis_url, PORTCULLIS_SERVER__METRICS_TOKEN=token) as service:
        await execute(
            service,
            "UPDATE sys.casbin_rule SET v2 = '@anyone' WHERE v1 = 'GET /api/user/list' AND v0 = 'resource'",
        )
        with capture_logs() as logged:
            await service.data("POST", "/api/resource", REPORT)

        changed = await service.data("GET", "/api/policy/revisions/2")
    async with inside(seeded_database_url, redis_url, PORTCULLIS_SERVER__METRICS_TOKEN=token) as service:
        metrics = (await service.ask("GET", "/metrics", None, token=token)).body.decode()

    (line,) = [
        entry for entry in logged if entry["event"] == "published policy lines were changed past the service"
    ]
    assert (line["log_level"], line["event_type"], line["lines"]) == ("error", "security", 2)
    assert changed["tampered"] == 2
    assert changed["addedLines"] == [
        "p, resource, GET /api/report/{id}, @login",
        "p, assurance, resource GET /api/report/{id}, @anyone",
    ]
    assert changed["removedLines"] == []
    assert "portcullis_policy_tamperings_total 1" in metrics.splitlines()


async def test_a_dry_run_raises_no_alarm_about_lines_that_it_does_not_replace(service: Inside) -> None:
    await execute(service, "DELETE FROM sys.casbin_rule WHERE v1 = 'GET /api/user/list' AND v0 = 'resource'")

    with capture_logs() as dry:
        await service.data("POST", "/api/resource?dryRun=true", REPORT)
    with capture_logs() as written:
        await service.data("POST", "/api/resource", REPORT)

    warning = "published policy lines were changed past the service"
    assert [warning in {entry["event"] for entry in logged} for logged in (dry, written)] == [False, True]


async def test_long_lists_of_lines_are_told_in_pages(past: Past) -> None:
    service = past.service
    pages = [
        await service.data("GET", f"/api/policy/revisions/1?size=40&page={page}") for page in (1, 2, 3, 4, 5)
    ]
    whole = await service.data("GET", "/api/policy/revisions/1")
    diff = await service.data("GET", "/api/policy/diff?from=2&to=1&size=1")

    assert [line for part in pages for line in part["addedLines"]] == whole["addedLines"]
    number = whole["added"]
    assert len(whole["addedLines"]) == number
    assert [part["truncated"] for part in pages] == [number > 40 * page for page in (1, 2, 3, 4, 5)]
    assert pages[0]["truncated"]
    assert (whole["truncated"], diff["truncated"], len(diff["removedLines"])) == (False, True, 1)


async def test_only_those_who_may_read_the_policy_read_its_history(shared: Inside) -> None:
    for target in ("/api/policy/revisions", "/api/policy/revisions/1", "/api/policy/diff?from=1&to=1"):
        assert (await shared.as_anonymous("GET", target)).status == 401
