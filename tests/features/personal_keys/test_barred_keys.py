"""Roles whose holders may have no API keys of their own."""

from urllib.parse import urlencode

from tests.features.personal_keys.conftest import KEYS, LIST, key_of
from tests.features.service_accounts.conftest import Workers
from tests.support.members import member

ANY = ("If-Match", "*")
FORM = ("Content-Type", "application/x-www-form-urlencoded")
BARRED = "use-personal-key barred-by-role"
EXPLAIN = "/api/policy/explain"


async def test_a_role_bars_the_keys_of_its_holders_until_it_is_taken(workers: Workers) -> None:
    owner = await member(workers.first, "ada", LIST)
    other = await member(workers.first, "bea")
    made = await key_of(owner, LIST)
    assert await workers.statuses(made["key"]) == [200, 200]

    role, user = f"/api/role/{other.role_id}", f"/api/user/{owner.user_id}"
    await workers.first.data("PATCH", user, {"roleIds": [owner.role_id, other.role_id]}, ANY)
    assert await workers.statuses(made["key"]) == [200, 200]
    assert (await workers.first.data("PATCH", role, {"personalKeys": False}, ANY))["personalKeys"] is False
    for answer in await workers.ask(made["key"]):
        refusal = (answer.status, answer.code, answer.json["layer"], answer.json["detailCode"])
        assert refusal == (403, "permission_denied", "account", "keys_barred_by_role"), answer.body
        assert answer.json["decisionId"]
    await owner.log_in()
    refused = await owner.ask("POST", KEYS, {"name": "n", "scopes": [LIST], "expiresIn": 60})
    assert (refused.status, refused.json["detailCode"]) == (403, "keys_barred_by_role"), refused.body
    assert (await owner.ask("GET", KEYS)).json["data"]["allowed"] is False
    assert (await owner.ask("GET", "/api/role/list")).status == 200

    await workers.first.data("PATCH", user, {"roleIds": [owner.role_id]}, ANY)
    assert await workers.statuses(made["key"]) == [200, 200]
    await workers.first.data("PATCH", user, {"roleIds": [owner.role_id, other.role_id]}, ANY)
    assert await workers.statuses(made["key"]) == [403, 403]
    await workers.first.data("PATCH", role, {"personalKeys": True}, ANY)
    assert await workers.statuses(made["key"]) == [200, 200]


async def test_evaluation_and_introspection_report_a_barred_key_as_inactive(workers: Workers) -> None:
    owner = await member(workers.first, "cleo", LIST)
    key = (await key_of(owner, LIST))["key"]
    question = {
        "subject": {"type": "token", "id": key},
        "action": {"name": "GET"},
        "resource": {"type": "route", "id": "/api/role/list"},
    }

    async def answers() -> list[bool]:
        decided = await workers.first.ask("POST", "/access/v1/evaluation", question)
        body = urlencode({"token": key}).encode()
        state = await workers.first.ask_raw("POST", "/oauth/introspect", body, FORM)
        return [decided.json["decision"], state.json["active"]]

    assert await answers() == [True, True]
    await workers.first.data("PATCH", f"/api/role/{owner.role_id}", {"personalKeys": False}, ANY)
    assert await answers() == [False, False]


async def test_an_explanation_names_the_role_setting_as_a_line(workers: Workers) -> None:
    owner = await member(workers.first, "dot", LIST)
    key = (await key_of(owner, LIST))["key"]
    question = {"userName": "dot", "scopes": [LIST], "method": "GET", "path": "/api/role/list"}
    before = await workers.first.data("POST", EXPLAIN, question)
    assert (before["allowed"], before["key"]["object"]) == (True, "use-personal-key self")
    assert before["key"]["line"] == "p, account, use-personal-key self, @login"
    await workers.first.data("PATCH", f"/api/role/{owner.role_id}", {"personalKeys": False}, ANY)
    after = await workers.first.data("POST", EXPLAIN, question)
    assert (after["allowed"], after["key"]["object"], after["key"]["reason"]) == (False, BARRED, "no_line")
    assert (await workers.ask(key))[0].json["decisionId"] == after["key"]["decisionId"]
    by_role = await workers.first.data("POST", EXPLAIN, question | {"userName": None, "roleCode": "dot"})
    assert (by_role["allowed"], by_role["key"]["object"]) == (False, BARRED)
