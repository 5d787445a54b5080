"""Service accounts and their keys, through the API."""

from typing import Any

import pytest

from tests.features.service_accounts.conftest import Workers
from tests.support.cases import with_each
from tests.support.members import Member, member, query

LIST = "system:role:list"
KEY = "system:user:key"


async def made_key(workers: Workers, user_id: int, **order: Any) -> dict[str, Any]:
    path = f"/api/user/{user_id}/keys"
    made: dict[str, Any] = await workers.first.data("POST", path, {"name": "job", **order})
    return made


async def test_a_service_account_is_made_shown_filtered_and_edited(workers: Workers) -> None:
    body = {"userName": "gateway", "nickName": "Gateway", "kind": "service", "service": "orders"}
    made = await workers.first.data("POST", "/api/user", body)
    assert (made["kind"], made["service"]) == ("service", "orders")
    page = await workers.second.data("GET", "/api/user/list?kind=service&userName=gateway")
    assert [account["id"] for account in page["items"]] == [made["id"]]
    assert (await workers.first.data("GET", "/api/user/list?kind=person&userName=gateway"))["total"] == 0
    path = f"/api/user/{made['id']}"
    key = (await made_key(workers, made["id"]))["key"]
    assert (await workers.second.ask("GET", "/api/user/info", token=key)).status == 200
    assert (await workers.first.data("PATCH", path, {"service": None}))["service"] is None
    assert (await workers.first.ask("PATCH", path, {"service": "Orders"})).fields == ["service"]
    assert (await workers.first.ask("PATCH", "/api/user/1", {"service": "orders"})).fields == ["service"]


async def test_an_account_that_is_bound_to_a_service_does_not_free_itself_or_others(workers: Workers) -> None:
    first = await workers.account("system:user:update", "system:user:list")
    other = await workers.account()
    key = (await made_key(workers, first.id))["key"]
    for account in (first, other):
        await workers.first.data("PATCH", f"/api/user/{account.id}", {"service": "orders"})
    for account in (first, other):
        for service in (None, "shop"):
            path = f"/api/user/{account.id}"
            refused = await workers.first.ask("PATCH", path, {"service": service}, token=key)
            assert (refused.status, refused.json["layer"], refused.json["field"]) == (
                403,
                "account",
                "service",
            )
            assert (await workers.first.data("GET", path))["service"] == "orders"
    named = {"service": "orders", "nickName": "Other"}
    assert (await workers.first.ask("PATCH", f"/api/user/{other.id}", named, token=key)).status == 200


@with_each(
    ("more", "field"),
    [
        ({"kind": "service", "password": "four wary herons"}, "password"),
        ({"kind": "person"}, "password"),
        ({}, "password"),
        ({"password": "four wary herons", "service": "orders"}, "service"),
        ({"kind": "service", "service": "a b"}, "service"),
        ({"kind": "robot"}, "kind"),
    ],
)
async def test_members_that_do_not_fit_the_kind_are_refused(
    workers: Workers, more: dict[str, str], field: str
) -> None:
    body = {"userName": "misfit", "nickName": "Misfit", **more}
    assert (await workers.first.ask("POST", "/api/user", body)).fields == [field]


async def test_a_key_is_shown_once_works_and_is_listed_without_its_secret(workers: Workers) -> None:
    account = await workers.account(LIST)
    made = await made_key(workers, account.id, expiresIn=600, scopes=["system:*"])
    assert await workers.statuses(made["key"]) == [200, 200]
    answer = await workers.second.ask("GET", f"/api/user/{account.id}/keys")
    (listed,) = answer.json["data"]["items"]

    assert made["key"].startswith(made["prefix"])
    assert made["prefix"] == f"pck_{made['id']}_{made['key'].split('_')[2][:4]}"
    assert made["key"].split("_")[2].encode() not in answer.body
    assert {name for name in made if name not in listed} == {"key"}
    assert (listed["name"], listed["scopes"], listed["createdBy"]) == ("job", ["system:*"], 1)
    assert listed["expireTime"] is not None


async def test_the_times_of_a_key_have_milliseconds(workers: Workers) -> None:
    account = await workers.account(LIST)
    made = await made_key(workers, account.id, expiresIn=600)
    at = "2031-02-03T04:05:06.123456Z"
    times = "create_time = %s, last_use_time = %s, expire_time = %s"
    await query(
        workers.first, f"UPDATE sys.api_key SET {times} WHERE id = %s RETURNING id", at, at, at, made["id"]
    )
    (listed,) = (await workers.second.data("GET", f"/api/user/{account.id}/keys"))["items"]
    names = ("createTime", "lastUseTime", "expireTime")
    assert {listed[name] for name in names} == {"2031-02-03T04:05:06.123Z"}
    assert all(len(made[name]) == len("2031-02-03T04:05:06.123Z") for name in ("createTime", "expireTime"))


async def test_a_deleted_key_is_refused_from_the_next_request_on_and_the_others_work(
    workers: Workers,
) -> None:
    account = await workers.account(LIST)
    old, new = await made_key(workers, account.id), await made_key(workers, account.id)
    for key in (old, new):
        assert await workers.statuses(key["key"]) == [200, 200]
    path = f"/api/user/{account.id}/keys/{old['id']}"

    await workers.second.data("DELETE", path)
    assert await workers.statuses(old["key"]) == [401, 401]
    assert await workers.statuses(new["key"]) == [200, 200]
    assert (await workers.first.ask("DELETE", path)).status == 404


async def test_nobody_deletes_a_key_under_the_name_of_another_account(workers: Workers) -> None:
    owner, other = await workers.account(LIST), await workers.account(LIST)
    key = await made_key(workers, owner.id)

    assert (await workers.first.ask("DELETE", f"/api/user/{other.id}/keys/{key['id']}")).status == 404
    assert await workers.statuses(key["key"]) == [200, 200]


async def test_only_those_who_hold_all_that_an_account_holds_make_or_delete_its_keys(
    workers: Workers,
) -> None:
    account = await workers.account(LIST, "system:menu:list")
    key = await made_key(workers, account.id)
    weak: Member = await member(workers.first, "key-weak", KEY, LIST)
    equal: Member = await member(workers.first, "key-equal", KEY, LIST, "system:menu:list")
    path = f"/api/user/{account.id}/keys"

    for refused in (
        await weak.ask("POST", path, {"name": "job"}),
        await weak.ask("POST", path, {"name": "job", "scopes": [LIST]}),
        await weak.ask("DELETE", f"{path}/{key['id']}"),
    ):
        assert refused.code == "permission_denied"
        assert (refused.json["layer"], refused.json["required"]) == ("grant", ["system:menu:list"])
    assert (await equal.ask("POST", path, {"name": "job"})).status == 201
    assert (await equal.ask("DELETE", f"{path}/{key['id']}")).status == 200


async def test_keys_make_no_keys_and_persons_have_none(workers: Workers) -> None:
    account = await workers.account("*")
    path = f"/api/user/{account.id}/keys"
    key = (await made_key(workers, account.id))["key"]

    refused = await workers.first.ask("POST", path, {"name": "job"}, token=key)
    assert (refused.code, refused.json["layer"]) == ("permission_denied", "assurance")
    assert (await workers.first.ask("GET", path, token=key)).status == 200
    assert (await workers.first.ask("POST", "/api/user/1/keys", {"name": "job"})).code == "conflict"
    assert (await workers.first.ask("POST", "/api/user/999999/keys", {"name": "job"})).status == 404


async def test_a_faulty_order_of_a_key_is_refused(workers: Workers) -> None:
    account = await workers.account(LIST)
    path = f"/api/user/{account.id}/keys"
    for order, field in (
        ({"name": ""}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"name": "job", "scopes": ["a", "B:c"]}, "scopes[1]"),
        ({"name": "job", "expiresIn": 0}, "expiresIn"),
        ({}, "name"),
    ):
        assert (await workers.first.ask("POST", path, order)).fields == [field]


async def test_a_key_has_no_session_to_end(workers: Workers) -> None:
    key = (await made_key(workers, (await workers.account(LIST)).id))["key"]
    for path in ("/api/auth/logout", "/api/auth/logout/all"):
        assert (await workers.first.ask("POST", path, token=key)).code == "conflict"
    assert (await workers.first.ask("GET", "/api/auth/sessions", token=key)).json["data"] == []


async def test_a_service_account_is_not_the_administrator_who_must_remain(workers: Workers) -> None:
    await workers.account("*")
    boss = await member(workers.first, "key-boss", "*")
    done = await boss.ask("PUT", "/api/user/1/status", {"status": "disabled"})
    assert done.status == 200, "a second person remains"
    await workers.first.ask("PUT", "/api/user/1/status", {"status": "enabled"}, token=boss.token)
    workers.first.token = workers.second.token = await workers.first.log_in()
    await workers.first.data("PUT", f"/api/user/{boss.user_id}/status", {"status": "disabled"})
    key = (await made_key(workers, (await workers.account("*")).id))["key"]
    refused = await workers.first.ask("PUT", "/api/user/1/status", {"status": "disabled"}, token=key)
    assert (refused.code, refused.json["rule"]) == ("conflict", "last_administrator")


@pytest.mark.feature("tables")
async def test_tables_bring_service_accounts_and_never_keys(workers: Workers) -> None:
    row = {"userName": "imported-bot", "nickName": "Bot", "kind": "service", "service": "orders"}
    body = {"users": [row, {**row, "userName": "faulty-bot", "password": "four wary herons"}]}
    refused = await workers.first.ask("POST", "/api/user/import", body)
    assert refused.status == 422
    report = await workers.first.data("POST", "/api/user/import", {"users": [row]})
    assert report["rows"][0].get("note") is None
    ((kind, status, digest),) = await query(
        workers.first,
        "SELECT kind, status, password_hash FROM sys.user WHERE user_name = 'imported-bot'",
    )
    assert (kind, status, digest) == ("service", "enabled", None)
    changed = {"users": [{"userName": "imported-bot", "kind": "person"}]}
    assert (await workers.first.ask("POST", "/api/user/import", changed)).status == 422
    again = await workers.first.data("POST", "/api/user/import", {"users": [row]})
    assert again["unchanged"] == 1
    ((user_id,),) = await query(workers.first, "SELECT id FROM sys.user WHERE user_name = 'imported-bot'")
    await made_key(workers, user_id)
    table = (await workers.first.ask("GET", "/api/user/export?format=json")).body
    assert b'"kind":"service"' in table.replace(b" ", b"")
    assert b"pck_" not in table
