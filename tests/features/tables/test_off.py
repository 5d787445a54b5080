"""Without tables in and out, their paths are not found, and nobody can do more than before."""

import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from service.authz.engine.lines import Lines
from service.authz.engine.rules import Rule
from service.authz.publishing.shipped import read_shipped
from service.kernel.feature import off_by
from service.laboratory.analysis.answers import RequestsTo, Templates
from service.server.prepare import check, publish_policy
from service.settings import load
from tests.support.databases import NewDatabase
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import ids_of
from tests.support.running import portcullis

OFF = {"PORTCULLIS_FEATURES__OFF": "tables"}
NOUNS = ("user", "role")


@pytest.fixture
async def without(service_with: ServiceWith) -> AsyncIterator[Inside]:
    async with service_with(**OFF) as service:
        yield service


@pytest.mark.parametrize("noun", NOUNS)
async def test_no_table_is_taken_for_the_id_of_a_record(without: Inside, noun: str) -> None:
    row = {"userName": "egret", "nickName": "Egret"} if noun == "user" else {"roleCode": "egret"}
    for method, act, body in (
        ("GET", "export", None),
        ("POST", "import", {f"{noun}s": [row]}),
        ("PUT", "export", row),
        ("DELETE", "import", None),
    ):
        answer = await without.ask(method, f"/api/{noun}/{act}", body)
        assert (answer.status, answer.json["code"]) == (404, "not_found")
    assert "egret" not in str(await without.data("GET", f"/api/{noun}/list"))


async def test_the_document_has_no_tables_and_the_exports_of_logs_stay(without: Inside) -> None:
    paths = (await without.as_anonymous("GET", "/docs/openapi.json")).json["paths"]
    assert [path for path in paths if path.endswith(("/export", "/import"))] == [
        "/api/operation-log/export",
        "/api/login-log/export",
    ]
    assert (await without.ask("GET", "/api/login-log/export")).status == 200


async def test_the_caller_is_not_offered_what_is_off(without: Inside) -> None:
    operations = str(await without.data("GET", "/api/user/operations"))
    assert "/api/user/import" not in operations
    assert "/api/user/bulk/status" in operations


async def test_reviewers_are_shown_no_request_that_is_off(without: Inside) -> None:
    who = "/api/policy/who?method=GET&path=/api/user/{}"
    read = await without.data("GET", who.format("7"))
    lost = await without.data("GET", who.format("export"))
    question = {"method": "GET", "path": "/api/user/export", "permissions": ["*"]}
    explained = await without.data("POST", "/api/policy/explain", question)

    assert read["others"] == []
    assert [row["roleCode"] for row in read["items"]] == ["admin", "auditor", "super"]
    assert (lost["endpoint"], lost["items"]) == (None, [])
    assert (explained["allowed"], explained["endpoint"]) == (False, None)
    matrix = await without.data("GET", "/api/policy/matrix?size=200")
    assert "/api/user/export" not in str(matrix["items"])


async def test_the_button_of_what_is_off_is_disabled_without_locking_anybody_out(without: Inside) -> None:
    (button,) = await ids_of(without, "system:user:export")
    disabled = await without.data("PATCH", f"/api/menu/{button}", {"enabled": False})

    rules = (await without.data("GET", "/api/policy"))["rules"]
    assert disabled["policyRevision"] == 2
    assert "p, resource, GET /api/user/export, @nobody" in rules
    assert (await without.ask("GET", "/api/user/1")).status == 200


def test_a_question_about_a_template_asks_about_no_request_that_is_off() -> None:
    closed = Lines([Rule("resource", "GET /api/user/export", "@nobody")])
    asked = RequestsTo("portcullis", "GET", "/api/user/{id}")
    paths = {
        off: Templates().paths(read_shipped(off=off_by(off)).policy(closed, {}, 1), asked)
        for off in ((), ("tables",))
    }
    on, without = (set(each or ()) for each in paths.values())
    assert on - without == {"/api/user/export"}
    assert "/api/user/list" in without


def test_commands_find_nothing_wrong_with_a_new_installation(
    tmp_path: Path, new_database: NewDatabase, seeded_template: str, redis_url: str
) -> None:
    variables = {
        "DATABASE_URL": new_database(seeded_template),
        "REDIS_URL": redis_url,
        "JWT_SECRET": secrets.token_urlsafe(48),
        "PORTCULLIS_POLICY__UNREGISTERED": "deny",
        "PORTCULLIS_FEATURES__OFF": "all",
    }
    chosen = load({"PORTCULLIS_CONFIG": "", **variables})
    # All routes are registered: on a node with the feature nobody would pass otherwise.
    publish_policy(chosen, check(chosen))

    without_any = portcullis(tmp_path, "policy", "sync", "--dry-run", **variables)
    checked = portcullis(tmp_path, "doctor", "--json", **variables)
    linted = portcullis(tmp_path, "policy", "lint", **variables)
    on = portcullis(tmp_path, "policy", "sync", "--dry-run", **variables | {"PORTCULLIS_FEATURES__OFF": ""})

    for synced in (without_any, on):
        assert synced.output == "0 would be registered, 0 can't be, 0 fit no route.\n", synced.errors
    assert {each["check"]: each["state"] for each in json.loads(checked.output)["checks"]}["routes"] == "ok"
    assert "resource-without-route" not in linted.output


def test_a_new_installation_has_no_finding(
    tmp_path: Path, new_database: NewDatabase, seeded_template: str, redis_url: str
) -> None:
    variables = {
        "DATABASE_URL": new_database(seeded_template),
        "REDIS_URL": redis_url,
        "JWT_SECRET": secrets.token_urlsafe(48),
        "PORTCULLIS_FEATURES__OFF": "all",
    }
    chosen = load({"PORTCULLIS_CONFIG": "", **variables})
    publish_policy(chosen, check(chosen))
    linted = portcullis(tmp_path, "policy", "lint", **variables)
    assert (linted.status, linted.errors) == (0, ""), linted.output
    assert "0 findings in files and database" in linted.output
