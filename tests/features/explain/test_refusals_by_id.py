"""A refusal explained by the id of its decision alone, from the operation log or the decision log."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from service.__main__ import main
from service.features.embedded.stores import EmbeddedStores
from tests.support.inside import Inside, denial_log
from tests.support.inside_fixtures import inside_own
from tests.support.members import Member, member
from tests.web.driver import Answer

EXPLAIN = "/api/policy/explain"
REVIEWER = ("system:policy:read", "system:operation-log:detail")
PATIENCE = 20.0  # seconds until an entry stands in the log
Command = Callable[..., Any]


@pytest.fixture(scope="module")
async def logged(
    stores: EmbeddedStores, published_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Inside, Path]]:
    """A service, and the file of its decision log."""
    path = tmp_path_factory.mktemp("log") / "decisions.jsonl"
    chosen = denial_log(path)
    async with inside_own(stores, published_template, **chosen) as running:
        yield running, path


async def known(inside: Inside, refused: Answer | str) -> Any:
    """Return the explanation of a refusal by its id, once a log has it."""
    decision_id = refused if isinstance(refused, str) else refused.json["decisionId"]
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await inside.ask("POST", EXPLAIN, {"decisionId": decision_id})
            if answer.status != 404:
                assert answer.status == 200, answer.body
                return answer.json["data"]
            await asyncio.sleep(0.02)


async def give(inside: Inside, who: Member, *codes: str) -> None:
    """Give the role of ``who`` these codes instead of those that it gives."""
    await inside.data("PUT", f"/api/role/{who.role_id}/permissions", {"permissions": list(codes)})


def of_request(answer: Any) -> tuple[Any, ...]:
    refusal = answer["refusal"]
    return refusal["log"], refusal["userName"], refusal["method"], refusal["path"], refusal["requestId"]


async def test_a_refused_request_is_explained_by_its_id_alone(
    shared: Inside, command_on: Callable[[Inside], Command]
) -> None:
    someone = await member(shared, "someone", "system:role:list")
    refused = await someone.ask("DELETE", "/api/user/1?dryRun=true")

    answer = await known(shared, refused)

    request_id = refused.header("x-request-id")
    assert of_request(answer) == ("operation-log", "someone", "DELETE", "/api/user/1", request_id)
    assert (answer["allowed"], answer["decisionMatches"]) == (False, True)
    assert answer["resource"]["allowed"]
    assert answer["endpoint"]["object"] == "DELETE /api/user/{id}"
    assert answer["endpoint"]["decisionId"] == refused.json["decisionId"]
    assert answer["permissions"] == ["system:role:list"]
    assert (answer["grant"], answer["asked"]) == (None, None)
    command = command_on(shared)
    assert await command("refusal", refused.json["decisionId"], "--json") == answer
    lines = (await command("refusal", refused.json["decisionId"])).splitlines()
    assert f"DELETE /api/user/1, by someone; request {request_id} (operation-log)" in lines[0]
    assert lines[1].startswith("denied at revision ")


async def test_a_refused_grant_is_explained_though_the_log_keeps_no_answer(shared: Inside) -> None:
    helper = await member(shared, "helper", "system:user:reset-password")
    refused = await helper.ask("PUT", "/api/user/1/password", {"newPassword": "four wary herons"})
    assert refused.json["layer"] == "grant"

    answer = await known(shared, refused)

    assert of_request(answer)[2:4] == ("PUT", "/api/user/1/password")
    assert (answer["resource"], answer["endpoint"], answer["decisionMatches"]) == (None, None, True)
    assert answer["grant"]["object"] == refused.json["required"][0]
    assert not answer["allowed"]


async def test_a_refused_act_on_the_resources_of_a_service_is_explained(shared: Inside) -> None:
    await shared.data("POST", "/api/service", {"name": "orders"})
    keeper = await member(shared, "keeper", "system:service:resources")
    body = {"resourceName": "R", "resourceCode": "r", "method": "GET", "path": "/r", "service": "orders"}
    refused = await keeper.ask("POST", "/api/resource", body)
    assert refused.json["layer"] == "service"

    answer = await known(shared, refused)

    asked = answer["asked"]
    assert (asked["layer"], asked["object"], answer["decisionMatches"]) == ("service", "orders create", True)


async def test_a_refused_act_on_the_own_account_is_explained(shared: Inside) -> None:
    own = await member(shared, "own", "system:user:delete")
    refused = await own.ask("DELETE", f"/api/user/{own.user_id}")
    assert refused.json["layer"] == "account"

    answer = await known(shared, refused)

    asked = answer["asked"]
    assert (asked["layer"], asked["object"], answer["decisionMatches"]) == ("account", "delete self", True)


async def test_an_edit_that_a_request_includes_is_explained(shared: Inside) -> None:
    maker = await member(shared, "maker", "system:role:create")
    body = {"roleName": "New", "roleCode": "new", "permissions": ["system:role:create"]}
    refused = await maker.ask("POST", "/api/role", body)
    assert refused.json["layer"] == "endpoint"

    answer = await known(shared, refused)

    asked = answer["asked"]
    assert (asked["layer"], asked["object"]) == ("endpoint", "PUT /api/role/{id}/permissions")
    assert answer["decisionMatches"]


async def test_a_user_who_holds_other_codes_by_now_is_told(shared: Inside) -> None:
    moved = await member(shared, "moved", "system:role:list", "system:user:create", "system:user:update")
    person = {"userName": "made", "nickName": "made", "password": "four wary herons", "roleIds": [1]}
    refused, denied = await moved.ask("DELETE", "/api/user/1"), await moved.ask("POST", "/api/user", person)
    assert denied.json["layer"] == "grant"
    await known(shared, denied)
    await give(shared, moved, "system:user:delete")

    answer, grant = await known(shared, refused), await known(shared, denied)

    assert (answer["allowed"], answer["decisionMatches"]) == (True, False)
    assert answer["permissions"] == ["system:user:delete"]
    assert (grant["grant"]["object"], grant["decisionMatches"]) == (denied.json["required"][0], False)


async def test_the_decision_log_has_what_was_held_then_and_refused_reads(
    logged: tuple[Inside, Path],
    command_on: Callable[[Inside], Command],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inside, path = logged
    reader = await member(inside, "reader", "system:role:list")
    refused = await reader.ask("GET", "/api/user/1")
    await give(inside, reader, "system:user:detail")

    answer = await known(inside, refused)

    request_id = refused.header("x-request-id")
    assert of_request(answer) == ("decision-log", "reader", "GET", "/api/user/1", request_id)
    assert (answer["allowed"], answer["decisionMatches"]) == (False, True)
    assert answer["permissions"] == ["system:role:list"]
    monkeypatch.setenv("PORTCULLIS_POLICY__DECISION_LOG", str(path))
    command = command_on(inside)
    decision_id = refused.json["decisionId"]
    assert await command("refusal", decision_id, "--json") == answer
    monkeypatch.delenv("PORTCULLIS_POLICY__DECISION_LOG")
    assert await command("refusal", decision_id, "--log", str(path), "--json") == answer


@pytest.mark.feature("decisions")
async def test_a_refused_question_of_another_service_is_explained(logged: tuple[Inside, Path]) -> None:
    inside, _ = logged
    await inside.data("POST", "/api/service", {"name": "bills"})
    body = {
        "resourceName": "B",
        "resourceCode": "b",
        "method": "GET",
        "path": "/bill/{id}",
        "service": "bills",
    }
    await inside.data("POST", "/api/resource", body)
    asked = {
        "subject": {"type": "user", "id": "admin"},
        "action": {"name": "GET"},
        "resource": {"type": "route", "id": "/bill/7", "properties": {"service": "bills"}},
    }
    evaluation = await inside.ask("POST", "/access/v1/evaluation", asked)
    assert evaluation.json["decision"] is False, evaluation.body

    answer = await known(inside, evaluation.json["context"]["decisionId"])

    assert answer["resource"]["object"] == "bills GET /bill/{id}"
    assert (answer["endpoint"], answer["allowed"], answer["decisionMatches"]) == (None, False, True)
    assert of_request(answer)[:4] == ("decision-log", "admin", "GET", "/bill/{id}")
    assert (answer["refusal"]["service"], answer["path"]) == ("bills", "/bill/{}")


async def test_a_refusal_for_a_weak_authentication_is_explained_by_what_the_caller_had_proved(
    shared: Inside, command_on: Callable[[Inside], Command]
) -> None:
    (super_role,) = (await shared.data("GET", "/api/role/list?roleCode=super"))["items"]
    body = {"userName": "gateway", "nickName": "Gateway", "kind": "service", "roleIds": [super_role["id"]]}
    account = (await shared.data("POST", "/api/user", body))["id"]
    keys = f"/api/user/{account}/keys"
    key = (await shared.data("POST", keys, {"name": "job"}))["key"]
    refused = await shared.ask("POST", keys, {"name": "another"}, token=key)
    assert (refused.status, refused.json["layer"]) == (403, "assurance")

    answer = await known(shared, refused)

    assurance = answer["assurance"]
    assert (answer["allowed"], assurance["met"], answer["decisionMatches"]) == (False, False, True)
    assert assurance["satisfied"] == ["@anyone", "@service"]
    assert assurance["endpoint"]["decisionId"] == refused.json["decisionId"]
    assert assurance["endpoint"]["required"] == ["@login"]
    assert assurance["resource"]["allowed"]
    lines = (await command_on(shared)("refusal", refused.json["decisionId"])).splitlines()
    assert "Satisfied: @anyone, @service" in lines
    assert "  p, assurance, endpoint POST /api/user/{id}/keys, @login" in lines


async def test_what_no_log_has_is_told_so(shared: Inside) -> None:
    newest = (await shared.data("GET", "/api/policy"))["revision"]
    own = (await shared.data("GET", "/api/policy"))["ownDigest"][:8]

    async def asked(decision_id: str, **more: Any) -> tuple[int, Any]:
        answer = await shared.ask("POST", EXPLAIN, {"decisionId": decision_id, **more})
        return answer.status, answer.json

    status, problem = await asked(f"r{newest}-{own}-000000000000")
    assert (status, problem["code"]) == (404, "not_found")
    assert "can't be found by id" in problem["detail"]
    assert "policy explain USER METHOD PATH" in problem["detail"]
    assert (await asked(f"r{newest}-00000000-000000000000"))[0] == 409
    assert (await asked(f"r{newest + 9}-{own}-000000000000"))[0] == 422
    assert (await asked(f"r{newest}-{own}-000000000000", revision=newest + 1))[0] == 422
    assert (await asked(f"r{newest}-{own}-000000000000", userName="admin"))[0] == 422
    assert main(["policy", "refusal", "nothing"]) == 1


async def test_a_refusal_of_a_deleted_user_is_told_so(shared: Inside) -> None:
    leaver = await member(shared, "leaver")
    refused = await leaver.ask("DELETE", "/api/user/1")
    await known(shared, refused)
    assert (await shared.ask("DELETE", f"/api/user/{leaver.user_id}")).status == 200
    answer = await shared.ask("POST", EXPLAIN, {"decisionId": refused.json["decisionId"]})
    assert (answer.status, answer.json["detail"]) == (
        404,
        "The operation log has the refusal, but its user has been deleted",
    )


async def test_who_may_not_read_the_log_finds_nothing_in_it(shared: Inside) -> None:
    outsider = await member(shared, "outsider", "system:policy:read")
    reviewer = await member(shared, "reviewer", *REVIEWER)
    refused = await outsider.ask("DELETE", "/api/user/1")
    question = {"decisionId": refused.json["decisionId"]}
    await known(shared, refused)

    assert (await reviewer.ask("POST", EXPLAIN, question)).status == 200
    answer = await outsider.ask("POST", EXPLAIN, question)
    assert (answer.status, answer.json["code"]) == (403, "permission_denied")
    assert answer.json["required"] == ["system:operation-log:detail"]
    # Also for what is not there: nobody learns which decisions there were.
    unknown = {"decisionId": question["decisionId"][:-12] + "0" * 12}
    assert (await outsider.ask("POST", EXPLAIN, unknown)).status == 403
    whole = question | {"userName": "outsider", "method": "DELETE", "path": "/api/user/1"}
    answered = await outsider.ask("POST", EXPLAIN, whole)
    assert answered.json["data"]["decisionMatches"]
    assert answered.json["data"]["refusal"] is None


async def test_refusals_are_found_by_an_index(shared: Inside) -> None:
    async with await psycopg.AsyncConnection.connect(shared.database_url) as connection:
        await connection.execute("SET LOCAL enable_seqscan = off")
        cursor = await connection.execute(
            "EXPLAIN SELECT id FROM sys.operation_log WHERE decision_id = 'r1-0-0' AND decision = 'deny'"
        )
        plan = "\n".join(row[0] for row in await cursor.fetchall())
    assert "decision_id" in plan
    assert "Index Scan" in plan
