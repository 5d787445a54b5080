"""API keys that people make of their own accounts, through the API."""

from hashlib import sha256
from typing import Any

from tests.features.personal_keys.conftest import KEYS, LIST, key_of
from tests.features.service_accounts.conftest import Workers
from tests.support.cases import with_each
from tests.support.members import member, query, until_row

MAX = 7_776_000


async def test_a_person_makes_uses_lists_and_deletes_a_key(workers: Workers) -> None:
    owner = await member(workers.first, "fay", LIST)
    made = await key_of(owner, "system:role:*")
    assert made["key"].startswith(made["prefix"])
    assert made["scopes"] == ["system:role:*"]
    assert await workers.statuses(made["key"]) == [200, 200]
    listed = (await owner.ask("GET", KEYS)).json["data"]["items"]
    assert [(key["id"], key["name"], "key" in key) for key in listed] == [(made["id"], "script", False)]
    assert (await owner.ask("DELETE", f"{KEYS}/{made['id']}")).status == 200
    assert await workers.statuses(made["key"]) == [401, 401]
    await owner.log_in()
    assert (await owner.ask("DELETE", f"{KEYS}/{made['id']}")).status == 404


@with_each(
    ("change", "fields"),
    [
        ({"name": None}, ["name"]),
        ({"scopes": None}, ["scopes"]),
        ({"expiresIn": None}, ["expiresIn"]),
        ({"scopes": []}, ["scopes"]),
        ({"scopes": ["*"]}, ["scopes[0]"]),
        ({"scopes": ["*:*"]}, ["scopes[0]"]),
        ({"scopes": [LIST, "System"]}, ["scopes[1]"]),
        ({"scopes": ["@login"]}, ["scopes[0]"]),
        ({"expiresIn": MAX + 1}, ["expiresIn"]),
        ({"expiresIn": 0}, ["expiresIn"]),
        ({"name": "two\nlines"}, ["name"]),
    ],
)
async def test_a_key_needs_a_name_scopes_that_are_not_all_and_an_expiry(
    workers: Workers, change: dict[str, Any], fields: list[str]
) -> None:
    order = {"name": "script", "scopes": [LIST], "expiresIn": MAX} | change
    body = {name: value for name, value in order.items() if value is not None}
    refused = await workers.first.ask("POST", KEYS, body)
    assert (refused.status, refused.fields) == (422, fields)


async def test_both_the_codes_of_the_person_and_the_scopes_must_allow(workers: Workers) -> None:
    owner = await member(workers.first, "gil", LIST, "system:user:list")
    key = (await key_of(owner, "system:role:*", "system:menu:*"))["key"]
    assert await workers.statuses(key, "/api/role/list") == [200, 200]
    by_key = await workers.first.ask("GET", "/api/user/list", token=key)
    assert (by_key.status, by_key.code, by_key.json["deniedBy"]) == (403, "permission_denied", ["key"])
    by_account = await workers.second.ask("GET", "/api/menu/list", token=key)
    assert (by_account.status, by_account.json["deniedBy"]) == (403, ["account"])
    by_both = await workers.second.ask("GET", "/api/online/list", token=key)
    assert by_both.json["deniedBy"] == ["account", "key"]
    assert by_both.json["decisionId"] != by_account.json["decisionId"]


async def test_a_demand_that_a_key_does_not_meet_is_refused_without_a_challenge(workers: Workers) -> None:
    owner = await member(workers.first, "hal", LIST)
    sql = "UPDATE sys.resource SET assurance = 'two-factors' WHERE path = '/api/user/operations' RETURNING id"
    assert await query(workers.first, sql)
    await workers.first.data("POST", "/api/policy/reload")
    key = (await key_of(owner, LIST))["key"]
    refused = await workers.first.ask("GET", "/api/user/operations", token=key)
    assert (refused.status, refused.json["layer"]) == (403, "assurance")
    assert "acrValues" not in refused.json


async def test_an_administrator_lists_and_revokes_keys_of_people_and_makes_none(workers: Workers) -> None:
    owner = await member(workers.first, "ida", LIST)
    made = await key_of(owner, LIST)
    path = f"/api/user/{owner.user_id}/keys"
    shown = (await workers.first.data("GET", path))["items"]
    assert [key["id"] for key in shown] == [made["id"]]
    order = {"name": "script", "scopes": [LIST], "expiresIn": 60}
    refused = await workers.first.ask("POST", path, order)
    assert (refused.status, refused.code) == (409, "conflict")
    assert (await workers.first.ask("DELETE", f"{path}/{made['id']}")).status == 200
    assert await workers.statuses(made["key"]) == [401, 401]


async def test_a_service_account_makes_no_personal_key(workers: Workers) -> None:
    robot = await workers.account(LIST)
    key = await workers.key(robot)
    order = {"name": "script", "scopes": [LIST], "expiresIn": 60}
    refused = await workers.first.ask("POST", KEYS, order, token=key)
    assert (refused.status, refused.json["layer"]) == (403, "assurance")


async def test_no_personal_key_is_exchanged_for_a_token(workers: Workers) -> None:
    owner = await member(workers.first, "jan", LIST)
    made = await key_of(owner, LIST)
    form = {"grant_type": "client_credentials", "client_id": str(made["id"]), "client_secret": made["key"]}
    refused = await workers.first.as_anonymous_form("/oauth/token", form)
    assert (refused.status, refused.json["error"]) == (400, "invalid_client")


async def test_a_scope_is_no_right_and_a_lost_role_is_lost_at_once(workers: Workers) -> None:
    owner = await member(workers.first, "kim", LIST)
    key = (await key_of(owner, "system:*"))["key"]
    assert await workers.statuses(key) == [200, 200]
    await workers.first.data("PUT", f"/api/role/{owner.role_id}/permissions", {"menuIds": []})
    assert await workers.statuses(key) == [403, 403]


async def test_the_last_use_is_shown_with_its_address(workers: Workers) -> None:
    owner = await member(workers.first, "lou", LIST)
    made = await key_of(owner, LIST)
    administrator, workers.first.token = workers.first.token, made["key"]
    try:
        answer = await workers.first.ask_from("198.51.100.9", "GET", "/api/role/list")
    finally:
        workers.first.token = administrator
    assert answer.status == 200
    await until_row(
        workers.first, "SELECT id, host(last_use_ip) FROM sys.api_key", (made["id"], "198.51.100.9")
    )
    (shown,) = (await owner.ask("GET", KEYS)).json["data"]["items"]
    assert shown["lastUseIp"] == "198.51.100.9"
    notices = (await owner.ask("GET", "/api/user/profile/notices")).json["data"]["items"]
    kinds = [notice["kind"] for notice in notices]
    assert (kinds.count("key_used_elsewhere"), kinds.count("api_key_made")) == (1, 1)
    rows = await query(workers.first, "SELECT networks FROM sys.api_key WHERE id = %s", made["id"])
    assert "198.51.100.0/24" in rows[0][0]


async def test_no_key_is_made_while_a_node_of_an_older_version_runs(workers: Workers) -> None:
    facts = '{"version": "0.3.0", "settings": {}, "parts": {}, "knows": ["windows", "line_ends"]}'
    add = "INSERT INTO sys.policy_worker (worker, revision, facts) VALUES ('older:1', 1, %s)"
    owner = await member(workers.first, "nat", LIST)
    await query(workers.first, add, facts)
    order = {"name": "script", "scopes": [LIST], "expiresIn": 60}
    refused = await owner.ask("POST", KEYS, order)
    await query(workers.first, "DELETE FROM sys.policy_worker WHERE worker = 'older:1'")
    assert (refused.status, refused.json["rule"]) == (409, "older_nodes")
    assert (await owner.ask("POST", KEYS, order)).status == 201


async def test_an_older_version_accepts_no_key_of_a_person(workers: Workers) -> None:
    """It compares the SHA-256 of the secret alone, and would take the key for one of a service account."""
    owner = await member(workers.first, "ona", LIST)
    made = await key_of(owner, LIST)
    secret = made["key"].split("_")[2]
    ((digest,),) = await query(workers.first, "SELECT digest FROM sys.api_key WHERE id = %s", made["id"])
    assert bytes(digest) != sha256(secret.encode()).digest()
    assert await workers.statuses(made["key"]) == [200, 200]
