import asyncio
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.authz.engine.paths import shape
from service.authz.publishing.shipped import read_shipped
from tests.policies.stock import MODEL, POLICIES
from tests.support.cases import with_each
from tests.support.inside import Inside, inside
from tests.support.without import GONE

EXPLAIN = "/api/policy/explain"


async def execute(service: Inside, *statements: str) -> None:
    async with await psycopg.AsyncConnection.connect(service.database_url) as connection:
        for statement in statements:
            await connection.execute(statement)


async def test_the_policy_in_force_is_shown_whole(shared: Inside) -> None:
    policy = await shared.data("GET", "/api/policy")

    assert policy["revision"] == 1
    assert policy["model"] == MODEL.read_text("utf-8")
    assert "p, resource, @unregistered, @login" in policy["rules"]
    assert "p, resource, GET /api/user/list, system:user:list" in policy["rules"]
    assert "p, endpoint, GET /api/policy, system:policy:read" in policy["rules"]
    async with await psycopg.AsyncConnection.connect(shared.database_url) as connection:
        row = await (await connection.execute("SELECT digest FROM sys.policy_revision")).fetchone()
    assert (policy["digest"],) == row
    assert [(worker["revision"], worker["fault"]) for worker in policy["workers"]] == [(1, None)]
    assert (
        [worker["ownDigest"] for worker in policy["workers"]]
        == [policy["ownDigest"]]
        == [read_shipped(off=GONE).digest]
    )


async def test_lines_of_the_policy_are_filtered_and_come_in_pages(shared: Inside) -> None:
    whole = await shared.data("GET", "/api/policy")
    endpoints = [line for line in whole["rules"] if line.startswith("p, endpoint, ")]
    logs = [line for line in endpoints if "system:login-log:" in line]

    second = await shared.data("GET", "/api/policy?layer=endpoint&size=10&page=2")
    about_logs = await shared.data("GET", "/api/policy?layer=endpoint&line=SYSTEM:login-log:&size=1000")

    assert whole["lineCount"] == whole["total"] == len(whole["rules"])
    assert second["rules"] == endpoints[10:20]
    assert (second["lineCount"], second["total"]) == (whole["lineCount"], len(endpoints))
    assert about_logs["rules"] == logs
    assert about_logs["total"] == len(logs) > 0
    for wrong in ("size=0", "size=1001", "page=0", "layer=none"):
        assert (await shared.ask("GET", f"/api/policy?{wrong}")).fields == [wrong.partition("=")[0]]


async def test_an_allowed_request_is_explained_by_lines_codes_and_predicates(shared: Inside) -> None:
    explanation = await shared.data(
        "POST",
        EXPLAIN,
        {"method": "GET", "path": "/api/role/list", "permissions": ["system:*:list", "system:user:create"]},
    )

    assert (explanation["allowed"], explanation["public"], explanation["revision"]) == (True, False, 1)
    assert explanation["resource"]["object"] == "GET /api/role/list"
    assert explanation["resource"]["line"] == "p, resource, GET /api/role/list, system:role:list"
    assert explanation["resource"]["rows"] == ["holdsPattern"]
    assert explanation["resource"]["fired"] == [
        {"code": "system:*:list", "predicate": "holdsPattern", "origins": []}
    ]
    assert len(explanation["endpoint"]["lines"]) == 3
    assert (explanation["endpoint"]["reason"], explanation["endpoint"]["wouldOpen"]) == ("opened", None)


async def test_a_denial_is_explained_by_what_would_open_it(shared: Inside) -> None:
    explanation = await shared.data(
        "POST", EXPLAIN, {"method": "GET", "path": "/api/user/list", "permissions": ["system:user:detail"]}
    )

    assert not explanation["allowed"]
    assert (explanation["resource"]["reason"], explanation["resource"]["line"]) == ("not_held", None)
    opens = explanation["resource"]["wouldOpen"]
    assert [button.pop("authMark") for button in opens["buttons"]] == ["*", "system:*", "system:user:list"]
    assert [button["title"] for button in opens.pop("buttons")] == [
        "Everything",
        "Everything below system",
        "List users",
    ]
    assert opens == {
        "permissions": ["system:user:list"],
        "roles": ["admin", "auditor", "super"],
        "disabledButtons": [],
    }
    assert explanation["endpoint"]["reason"] == "not_held"
    nowhere = await shared.data("POST", EXPLAIN, {"method": "GET", "path": "/api/no/such", "permissions": []})
    assert nowhere["endpoint"] is None


async def test_an_explanation_says_what_the_caller_must_have_proved(shared: Inside) -> None:
    question = {"method": "POST", "path": "/api/user/7/keys", "userName": "admin"}
    person = await shared.data("POST", EXPLAIN, question)
    key = await shared.data("POST", EXPLAIN, question | {"assurance": "@service"})
    initial = await shared.data(
        "POST", EXPLAIN, {"layer": "assurance", "object": "account set-contact self"} | {"userName": "admin"}
    )

    assert (person["allowed"], person["assurance"]["met"]) == (True, True)
    assert person["assurance"]["satisfied"] == ["@anyone", "@initial", "@login"]
    assert person["assurance"]["endpoint"]["line"] == (
        "p, assurance, endpoint POST /api/user/{id}/keys, @login"
    )
    assert person["assurance"]["resource"]["object"].startswith("resource ")
    assert (key["allowed"], key["endpoint"]["allowed"], key["assurance"]["met"]) == (False, True, False)
    assert initial["asked"]["line"] == "p, assurance, account set-contact self, @login"
    unknown = await shared.ask("POST", EXPLAIN, question | {"assurance": "@admin"})
    assert unknown.fields == ["assurance"]


@pytest.mark.feature("tables")
async def test_an_explanation_and_the_gate_agree(service: Inside) -> None:
    await execute(service, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:user:export'")
    await service.data("POST", "/api/policy/reload")

    explanation = await service.data(
        "POST", EXPLAIN, {"method": "GET", "path": "/api/user/export", "userName": "admin"}
    )
    refused = await service.ask("GET", "/api/user/export")

    assert (explanation["userStatus"], explanation["permissions"]) == ("enabled", ["*"])
    assert (explanation["allowed"], explanation["resource"]["reason"]) == (False, "closed")
    assert explanation["resource"]["lines"] == ["p, resource, GET /api/user/export, @nobody"]
    assert explanation["resource"]["wouldOpen"] == {
        "permissions": [],
        "roles": [],
        "buttons": [],
        "disabledButtons": ["system:user:export"],
    }
    assert explanation["endpoint"]["allowed"]
    assert (refused.status, refused.json["decisionId"]) == (403, explanation["resource"]["decisionId"])


async def test_a_visitor_is_explained_too(shared: Inside) -> None:
    explanation = await shared.data("POST", EXPLAIN, {"method": "GET", "path": "/api/user/info"})

    assert (explanation["permissions"], explanation["resource"]["object"]) == (None, "@no-session")
    assert explanation["endpoint"]["reason"] == "not_logged_in"
    assert explanation["endpoint"]["wouldOpen"]["permissions"] == ["@login"]
    assert explanation["endpoint"]["wouldOpen"]["buttons"] == []
    login = await shared.data("POST", EXPLAIN, {"method": "POST", "path": "/api/auth/login"})
    assert (login["allowed"], login["public"]) == (True, True)


async def test_a_grant_is_explained_by_the_line_of_its_button(shared: Inside) -> None:
    allowed = await shared.data("POST", EXPLAIN, {"grant": "system:user:list", "userName": "admin"})
    denied = await shared.data("POST", EXPLAIN, {"grant": "system:*", "permissions": ["system:user:list"]})

    assert (allowed["allowed"], allowed["resource"], allowed["endpoint"]) == (True, None, None)
    assert allowed["grant"]["line"] == "p, grant, system:user:list, system:user:list"
    (fired,) = allowed["grant"]["fired"]
    assert (fired["code"], fired["predicate"]) == ("*", "holdsEverything")
    assert [(origin["roleCode"], origin["buttonTitle"]) for origin in fired["origins"]] == [
        ("super", "Everything")
    ]
    assert (denied["allowed"], denied["grant"]["reason"]) == (False, "not_held")
    assert [button["authMark"] for button in denied["grant"]["wouldOpen"].pop("buttons")] == ["*", "system:*"]
    assert denied["grant"]["wouldOpen"] == {
        "permissions": ["system:*"],
        "roles": ["admin", "super"],
        "disabledButtons": [],
    }


async def test_what_a_code_permits_is_explained_by_the_line_of_its_enabled_button(shared: Inside) -> None:
    allowed = await shared.data("POST", EXPLAIN, {"permission": "system:user:list", "userName": "admin"})
    unknown = await shared.data("POST", EXPLAIN, {"permission": "no:such:button", "permissions": ["*"]})

    assert (allowed["allowed"], allowed["grant"]) == (True, None)
    assert allowed["permission"]["line"] == "p, permission, system:user:list, system:user:list"
    assert (unknown["allowed"], unknown["permission"]["reason"]) == (False, "no_line")


async def test_an_object_of_any_layer_is_explained(shared: Inside) -> None:
    asked = {"layer": "account", "object": "delete others"}
    open_to_all = await shared.data("POST", EXPLAIN, asked | {"permissions": []})
    closed = await shared.data("POST", EXPLAIN, asked | {"object": "delete self", "userName": "admin"})
    service = {"layer": "service", "object": "portcullis bind", "permissions": ["system:resource:list"]}
    bind = await shared.data("POST", EXPLAIN, service)

    assert (open_to_all["asked"]["line"], open_to_all["path"]) == ("p, account, delete others, @login", None)
    assert (closed["allowed"], closed["asked"]["reason"], closed["resource"]) == (False, "no_line", None)
    assert bind["asked"]["wouldOpen"]["permissions"] == ["system:resource:bind"]


@with_each(
    ("question", "fields"),
    [
        ({}, ["method", "path"]),
        ({"path": "/api/role/list"}, ["method"]),
        ({"method": "GET", "path": "/api/role/list", "grant": "system:user:list"}, ["grant"]),
        ({"grant": "not a code"}, ["grant"]),
        ({"grant": "@login"}, ["grant"]),
        ({"permission": "not a code"}, ["permission"]),
        ({"permission": "a:b", "path": "/api/role/list"}, ["permission"]),
        ({"permission": "a:b", "grant": "a:b"}, ["grant"]),
        ({"layer": "account"}, ["object"]),
        ({"object": "delete self"}, ["layer"]),
        ({"layer": "account", "object": "delete everybody"}, ["object"]),
        ({"layer": "accounts", "object": "delete self"}, ["layer"]),
        ({"layer": "account", "object": "delete self", "grant": "a:b"}, ["grant"]),
        ({"layer": "account", "object": "delete self", "path": "/api/role/list"}, ["object"]),
    ],
)
async def test_a_question_is_about_one_request_one_code_or_one_object(
    shared: Inside, question: dict[str, Any], fields: list[str]
) -> None:
    assert (await shared.ask("POST", EXPLAIN, question)).fields == fields


@with_each(
    ("change", "field"),
    [
        ({"path": "/api/role/list/"}, "path"),
        ({"path": "//api/role/list"}, "path"),
        ({"path": "/api/role/list?x=1"}, "path"),
        ({"path": "/api/role/{id"}, "path"),
        ({"path": ""}, "path"),
        ({"method": "HEAD"}, "method"),
        ({"userName": "nobody-of-that-name"}, "userName"),
        ({"userName": "admin", "permissions": []}, "permissions"),
        ({"permissions": ["ok", "not ok"]}, "permissions[1]"),
        ({"permissions": ["@login"]}, "permissions[0]"),
    ],
)
async def test_a_question_that_can_not_be_asked_is_refused_by_its_field(
    shared: Inside, change: dict[str, Any], field: str
) -> None:
    answer = await shared.ask("POST", EXPLAIN, {"method": "GET", "path": "/api/role/list"} | change)

    assert answer.fields == [field]


async def test_coverage_shows_every_route_and_how_it_is_guarded(service: Inside) -> None:
    await service.data(
        "POST",
        "/api/resource",
        {"resourceName": "x", "resourceCode": "x", "method": "GET", "path": "/api/nowhere/{id}"},
    )

    coverage = await service.data("GET", "/api/policy/coverage")

    shown = {f"{route['method']} {route['path']}": route for route in coverage["routes"]}
    assert shown["GET /api/role/list"] == {
        "method": "GET",
        "path": "/api/role/list",
        "guard": "permission",
        "required": ["system:role:list", "system:user:create", "system:user:update"],
        "resource": "GET /api/role/list",
        "resourceCodes": ["system:role:list", "system:user:create", "system:user:update"],
    }
    assert shown["POST /api/auth/login"]["guard"] == "public"
    assert shown["POST /api/auth/logout"]["guard"] == "login"
    assert shown["GET /api/resource/{id}"]["resource"] == "@unregistered"
    assert (shown["GET /health/live"]["guard"], shown["GET /health/live"]["resource"]) == ("outside", None)
    assert "GET /api/nowhere/{id}" in coverage["unrouted"]
    assert "GET /api/role/list" not in coverage["unrouted"]
    assert coverage["unroutedTotal"] == len(coverage["unrouted"])
    beyond = await service.data("GET", f"/api/policy/coverage?size=1&page={coverage['unroutedTotal'] + 1}")
    assert beyond == {**coverage, "unrouted": []}
    last = await service.data("GET", f"/api/policy/coverage?size=1&page={coverage['unroutedTotal']}")
    assert last["unrouted"] == coverage["unrouted"][-1:]
    document = (await service.ask("GET", "/docs/openapi.json")).json
    served = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    # The document writes the names of parameters as other members; templates of one shape are the same.
    known = {(route["method"], shape(route["path"])) for route in coverage["routes"]}
    assert {(method, shape(path)) for method, path in served} <= known


async def test_a_reload_derives_what_was_changed_past_the_service(service: Inside) -> None:
    await execute(service, "DELETE FROM sys.action_resource")

    assert await service.data("POST", "/api/policy/reload") == {"policyRevision": 2}

    policy = await service.data("GET", "/api/policy")
    assert "p, resource, GET /api/user/list, @login" in policy["rules"]
    assert await service.data("POST", "/api/policy/reload") == {"policyRevision": 2}


async def test_a_reload_mends_published_lines_that_were_tampered_with(service: Inside) -> None:
    before = await service.data("GET", "/api/policy")
    await execute(service, "UPDATE sys.casbin_rule SET v2 = '@anyone' WHERE v1 = 'GET /api/user/list'")

    assert await service.data("POST", "/api/policy/reload") == {"policyRevision": 2}

    after = await service.data("GET", "/api/policy")
    assert (after["digest"], after["rules"]) == (before["digest"], before["rules"])


@pytest.mark.parametrize(
    "model",
    [
        "[request_definition]\nnonsense",
        MODEL.read_text("utf-8").replace("r.layer == p.layer && ", ""),
        "# only a comment more\n" + MODEL.read_text("utf-8"),
    ],
)
async def test_a_model_that_is_not_that_of_the_start_is_not_reloaded_and_the_last_policy_stays(
    seeded_database_url: str, redis_url: str, tmp_path: Path, model: str
) -> None:
    file = tmp_path / "model.conf"
    file.write_text(MODEL.read_text("utf-8"))
    async with inside(seeded_database_url, redis_url, PORTCULLIS_POLICY__MODEL=str(file)) as service:
        file.write_text(model)

        answer = await service.ask("POST", "/api/policy/reload")

        assert (answer.status, answer.code) == (409, "conflict")
        assert str(tmp_path) not in answer.body.decode()
        shown = await service.ask("GET", "/api/policy")
        assert (shown.status, shown.json["data"]["revision"]) == (200, 1)


async def test_a_database_restored_below_the_revision_in_force_takes_changes_again_by_itself(
    service: Inside,
) -> None:
    resource = {"resourceName": "x", "resourceCode": "x", "method": "GET", "path": "/api/x"}
    assert (await service.data("POST", "/api/resource", resource))["policyRevision"] == 2
    # What a backup from before the change would bring back.
    await execute(
        service,
        "DELETE FROM sys.resource WHERE resource_code = 'x'",
        "DELETE FROM sys.casbin_rule WHERE v1 = 'GET /api/x'",
        "DELETE FROM sys.policy_revision WHERE revision = 2",
    )

    async with asyncio.timeout(60):
        while (answer := await service.ask("GET", "/api/policy")).json["data"]["revision"] == 2:  # noqa: ASYNC110 - the watch tells nobody
            await asyncio.sleep(0.05)
    taken = await service.ask("POST", "/api/resource", resource)

    # No worker has seen that number with other lines.
    assert answer.json["data"]["revision"] == 3
    assert "p, resource, GET /api/x, @login" not in answer.json["data"]["rules"]
    assert (taken.status, taken.json["data"]["policyRevision"]) == (201, 4)


async def test_without_the_line_for_unregistered_requests_they_are_refused(
    seeded_database_url: str, redis_url: str
) -> None:
    async with inside(seeded_database_url, redis_url, PORTCULLIS_POLICY__UNREGISTERED="deny") as strict:
        refused = await strict.ask("GET", "/api/resource/1")
        allowed = await strict.ask("GET", "/api/role/list")
        rules = (await strict.data("GET", "/api/policy"))["rules"]

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (403, "resource", [])
    assert allowed.status == 200
    base = [line for line in (POLICIES / "base.csv").read_text("utf-8").splitlines() if line[:2] == "p,"]
    assert [line for line in base if line not in rules] == ["p, resource, @unregistered, @login"]
