"""What the operation log tells of changes: in codes and names, before and after."""

import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from service.kernel.clock import rfc3339
from tests.log_capture.conftest import PASSWORD, Logged, Row
from tests.web.driver import Answer

_numbers = itertools.count(1)


def change(target: str, field: str, before: Any, after: Any) -> dict[str, Any]:
    return {"target": target, "field": field, "before": before, "after": after}


def codes(target: str, field: str, removed: list[str], added: list[str]) -> dict[str, Any]:
    return change(target, field, removed, added) | {"removed": len(removed), "added": len(added)}


class Calls:
    """Calls of one test, whose entries are read at its end: they are written together."""

    def __init__(self, logged: Logged) -> None:
        self._logged = logged
        self._answers: list[Answer] = []

    async def ask(self, method: str, target: str, body: Any = None, *headers: tuple[str, str]) -> Answer:
        answer = await self._logged.ask(method, target, body, *headers)
        self._answers.append(answer)
        return answer

    async def made(self, target: str, body: dict[str, Any]) -> int:
        """Return the id of a new record."""
        answer = await self.ask("POST", target, body)
        assert answer.status in (200, 201), answer.body
        return int(answer.json["data"]["id"])

    async def entries(self) -> list[Row]:
        return [await self._logged.entry(answer) for answer in self._answers]


async def button(logged: Logged, code: str) -> int:
    body = {"menuType": "Button", "title": f"Do {code}", "authMark": code}
    return await Calls(logged).made("/api/menu", body)


async def role(logged: Logged) -> tuple[int, str]:
    code = f"role-{next(_numbers)}"
    return await Calls(logged).made("/api/role", {"roleCode": code, "roleName": code}), code


async def test_the_life_of_a_role_is_told_field_by_field(logged: Logged) -> None:
    calls = Calls(logged)
    body = {"roleCode": "keeper", "roleName": "Keeper", "description": "Keeps"}
    role_id = await calls.made("/api/role", body)
    edit = {"roleName": "Warden", "description": None, "enabled": False}
    await calls.ask("PATCH", f"/api/role/{role_id}", edit)
    await calls.ask("DELETE", f"/api/role/{role_id}")
    created, edited, deleted = await calls.entries()

    target = "role:keeper"
    assert [row["targets"] for row in (created, edited, deleted)] == [[target]] * 3
    assert created["changes"] == [
        change(target, "roleName", None, "Keeper"),
        change(target, "description", None, "Keeps"),
        change(target, "enabled", None, True),
        change(target, "reasonRequired", None, False),
        change(target, "personalKeys", None, True),
    ]
    assert edited["changes"] == [
        change(target, "roleName", "Keeper", "Warden"),
        change(target, "description", "Keeps", None),
        change(target, "enabled", True, False),
    ]
    assert deleted["changes"] == [
        change(target, "roleName", "Warden", None),
        change(target, "enabled", False, None),
        change(target, "reasonRequired", False, None),
        change(target, "personalKeys", True, None),
    ]
    assert [row["change_count"] for row in (created, edited, deleted)] == [5, 3, 4]


async def test_permissions_of_a_role_are_told_by_the_codes_that_it_loses_and_gains(logged: Logged) -> None:
    calls = Calls(logged)
    first, second = await button(logged, "keep:a"), await button(logged, "keep:b")
    page = await Calls(logged).made("/api/menu", {"menuType": "Menu", "title": "Keep"})
    role_id, code = await role(logged)
    target, path = f"role:{code}", f"/api/role/{role_id}/permissions"

    await calls.ask("PUT", path, {"menuIds": [page, first]})
    await calls.ask("PUT", path, {"menuIds": [page, second]})
    await calls.ask("PUT", path, {"menuIds": [second, page]})
    await calls.ask("DELETE", f"/api/role/{role_id}")
    given, moved, same, deleted = await calls.entries()

    assert given["changes"] == [
        codes(target, "permissions", [], ["keep:a"]),
        codes(target, "menus", [], ["Keep"]),
    ]
    assert moved["changes"] == [codes(target, "permissions", ["keep:a"], ["keep:b"])]
    assert (same["changes"], same["change_count"], same["targets"]) == (None, None, [target])
    assert codes(target, "permissions", ["keep:b"], []) in deleted["changes"]


async def test_a_refused_change_names_its_record_and_changes_nothing(logged: Logged) -> None:
    calls = Calls(logged)
    role_id, code = await role(logged)
    await calls.ask("DELETE", f"/api/role/{role_id}", None, ("If-Match", '"99"'))
    await calls.ask("PATCH", f"/api/role/{role_id}", {"roleName": " x"})
    refused, invalid = await calls.entries()
    assert (refused["status"], refused["targets"], refused["changes"]) == (412, [f"role:{code}"], None)
    assert (invalid["status"], invalid["targets"], invalid["changes"]) == (422, None, None)


async def test_an_attempt_on_a_role_that_gives_more_than_the_caller_holds_is_found_by_the_role(
    logged: Logged,
) -> None:
    token = await logged.log_in(await logged.person("admin"))
    roles = (await logged.inside.data("GET", "/api/role/list?roleCode=super"))["items"]
    answer = await logged.ask("PUT", f"/api/role/{roles[0]['id']}/permissions", {"menuIds": []}, token=token)
    row = await logged.entry(answer)
    assert (row["error"], row["decision"]) == ("permission_denied", "deny")
    assert (row["targets"], row["changes"]) == (["role:super"], None)


async def test_a_refused_creation_and_a_refused_new_name_leave_no_trace_of_what_was_sent(
    logged: Logged,
) -> None:
    token = await logged.log_in(await logged.person("admin"))
    held = await button(logged, "system:kept")
    body = {"menuType": "Button", "title": "Canary", "authMark": "canary:do"}
    edit = {"parentId": None, "title": "Canary", "authMark": "canary:do"}
    created = await logged.entry(await logged.ask("POST", "/api/menu", body, token=token))
    renamed = await logged.entry(await logged.ask("PATCH", f"/api/menu/{held}", edit, token=token))
    assert (created["error"], created["targets"]) == ("permission_denied", None)
    assert (renamed["error"], renamed["targets"]) == ("permission_denied", ["button:system:kept"])


async def test_a_dry_run_names_its_record_and_changes_nothing(logged: Logged) -> None:
    calls = Calls(logged)
    role_id, code = await role(logged)
    await calls.ask("PATCH", f"/api/role/{role_id}?dryRun=true", {"roleName": "Dry"})
    (row,) = await calls.entries()
    assert (row["status"], row["targets"], row["changes"]) == (200, [f"role:{code}"], None)
    assert row["change_count"] is None


async def test_the_log_is_filtered_by_target_and_shows_the_changes_in_lists_files_and_details(
    logged: Logged,
) -> None:
    role_id, code = await role(logged)
    await logged.entry(await logged.ask("PATCH", f"/api/role/{role_id}", {"roleName": f"{code} renamed"}))
    target, renamed = f"role:{code}", change(f"role:{code}", "roleName", code, f"{code} renamed")

    listed = await logged.inside.data("GET", f"/api/operation-log/list?target={target}")
    edit, creation = listed["items"]
    detail = await logged.inside.data("GET", f"/api/operation-log/{edit['id']}")
    asked = f"/api/operation-log/export?target={target}&kind=UPDATE,DELETE&format="
    (line,) = (await logged.ask("GET", f"{asked}jsonl")).body.splitlines()
    csv = (await logged.ask("GET", f"{asked}csv")).body.decode()

    assert [(entry["kind"], entry["targets"], entry["changeCount"]) for entry in (edit, creation)] == [
        ("UPDATE", [target], 1),
        ("INSERT", [target], 4),
    ]
    assert detail["changes"] == json.loads(line)["changes"] == [renamed]
    assert f'"[""{target}""]","1","","false","","[{{' in csv
    assert "changes" not in edit
    assert (await logged.inside.data("GET", f"/api/operation-log/list?target={target}x"))["items"] == []


async def test_a_renamed_and_disabled_button_is_told_under_both_codes(logged: Logged) -> None:
    calls = Calls(logged)
    menu = await Calls(logged).made("/api/menu", {"menuType": "Menu", "title": "Shed"})
    body = {"menuType": "Button", "title": "Rake", "authMark": "shed:rake", "parentId": menu}
    button_id = await calls.made("/api/menu", body)
    edit = {"parentId": None, "title": "Rake", "authMark": "shed:hoe", "enabled": False}
    await calls.ask("PATCH", f"/api/menu/{button_id}", edit)
    await calls.ask("DELETE", f"/api/menu/{button_id}")
    created, edited, deleted = await calls.entries()

    old, new = "button:shed:rake", "button:shed:hoe"
    assert (created["targets"], edited["targets"], deleted["targets"]) == ([old], [old, new], [new])
    assert change(old, "authMark", None, "shed:rake") in created["changes"]
    assert change(old, "parent", None, "Shed") in created["changes"]
    assert edited["changes"] == [
        change(old, "authMark", "shed:rake", "shed:hoe"),
        change(old, "enabled", True, False),
        change(old, "parent", "Shed", None),
    ]
    assert change(new, "authMark", "shed:hoe", None) in deleted["changes"]


async def test_bindings_are_told_from_both_ends(logged: Logged) -> None:
    calls = Calls(logged)
    first, second = await button(logged, "bind:a"), await button(logged, "bind:b")
    body = {"resourceName": "R", "resourceCode": "bind", "method": "GET", "path": "/api/bind/{id}"}
    resource_id = await calls.made("/api/resource", body)
    await calls.ask("PUT", f"/api/resource/{resource_id}/buttons", {"menuIds": [first]})
    await calls.ask("PUT", f"/api/menu/{second}/resources", {"resourceIds": [resource_id]})
    await calls.ask("PUT", f"/api/resource/{resource_id}/enabled", {"enabled": False})
    await calls.ask("PATCH", f"/api/resource/{resource_id}", body | {"path": "/api/bound"})
    await calls.ask("PATCH", f"/api/resource/{resource_id}", {"assurance": "login", "services": True})
    await calls.ask("DELETE", f"/api/resource/{resource_id}")
    created, bound, added, closed, moved, demanding, deleted = await calls.entries()

    target = "resource:GET /api/bind/{id}"
    assert created["targets"] == [target]
    assert change(target, "path", None, "/api/bind/{id}") in created["changes"]
    assert bound["targets"] == [target, "button:bind:a"]
    assert bound["changes"] == [codes(target, "permissions", [], ["bind:a"])]
    assert added["targets"] == ["button:bind:b", target]
    assert added["changes"] == [codes("button:bind:b", "resources", [], ["GET /api/bind/{id}"])]
    assert closed["changes"] == [change(target, "enabled", True, False)]
    assert moved["targets"] == [target, "resource:GET /api/bound"]
    assert moved["changes"] == [change(target, "path", "/api/bind/{id}", "/api/bound")]
    assert demanding["changes"] == [
        change("resource:GET /api/bound", "assurance", None, "login"),
        change("resource:GET /api/bound", "services", False, True),
    ]
    gone = codes("resource:GET /api/bound", "permissions", ["bind:a", "bind:b"], [])
    assert deleted["changes"][-1] == gone


async def test_the_life_of_a_user_is_told_without_passwords(logged: Logged) -> None:
    calls = Calls(logged)
    _, role_code = await role(logged)
    role_id, other_code = await role(logged)
    body = {"userName": "alice", "nickName": "Alice", "password": f"{PASSWORD} 1", "roleIds": [role_id]}
    user_id = await calls.made("/api/user", body)
    edit = {"userName": "alicia", "email": "a@example.org", "roleIds": []}
    await calls.ask("PATCH", f"/api/user/{user_id}", edit)
    status = f"/api/user/{user_id}/status"
    await calls.ask("PUT", status, {"status": "disabled"})
    await calls.ask("PUT", status, {"status": "disabled"})
    await calls.ask("POST", f"/api/online/{user_id}/ban", {"reason": "x"})
    await calls.ask("PUT", f"/api/user/{user_id}/password", {"newPassword": f"{PASSWORD} 2"})
    await calls.ask("DELETE", f"/api/user/{user_id}")
    created, edited, disabled, again, banned, reset, deleted = await calls.entries()

    assert created["changes"] == [
        change("user:alice", "userName", None, "alice"),
        change("user:alice", "nickName", None, "Alice"),
        change("user:alice", "status", None, "enabled"),
        change("user:alice", "kind", None, "person"),
        codes("user:alice", "roles", [], [other_code]),
    ]
    assert edited["targets"] == ["user:alice", "user:alicia"]
    assert edited["changes"] == [
        change("user:alice", "userName", "alice", "alicia"),
        change("user:alice", "email", None, "a@example.org"),
        codes("user:alice", "roles", [other_code], []),
    ]
    assert disabled["changes"] == [change("user:alicia", "status", "enabled", "disabled")]
    assert (again["targets"], again["changes"]) == (["user:alicia"], None)
    assert (banned["targets"], banned["changes"]) == (["user:alicia"], None)
    assert (reset["status"], reset["targets"], reset["changes"]) == (200, ["user:alicia"], None)
    assert change("user:alicia", "email", "a@example.org", None) in deleted["changes"]
    for row in (created, edited, disabled, deleted):
        assert PASSWORD not in json.dumps(row["changes"])
    assert role_code not in json.dumps(created["changes"])


@pytest.mark.feature("tables")
async def test_an_import_names_each_record_that_it_touches(logged: Logged) -> None:
    calls = Calls(logged)
    await button(logged, "import:a")
    _, known = await role(logged)
    table = [
        {"roleCode": known, "enabled": False, "permissions": ["import:a"]},
        {"roleCode": "import-new", "roleName": "New", "permissions": []},
        {"roleCode": "auditor"},
    ]
    await calls.ask("POST", "/api/role/import?dryRun=true", {"roles": table})
    await calls.ask("POST", "/api/role/import", {"roles": table})
    duck = {"userName": "mallard", "roles": ["import-new"]}
    await calls.ask(
        "POST", "/api/user/import", {"users": [duck | {"nickName": "Mallard"}, {"userName": "admin"}]}
    )
    await calls.ask("POST", "/api/user/import", {"users": [duck | {"nickName": "Drake"}]})
    dry, row, users, renamed = await calls.entries()

    assert (dry["status"], dry["targets"], dry["changes"]) == (200, None, None)
    assert row["targets"] == [f"role:{known}", "role:import-new"]
    assert row["changes"] == [
        change(f"role:{known}", "enabled", True, False),
        codes(f"role:{known}", "permissions", [], ["import:a"]),
        change("role:import-new", "roleName", None, "New"),
        change("role:import-new", "enabled", None, True),
        change("role:import-new", "reasonRequired", None, False),
        change("role:import-new", "personalKeys", None, True),
    ]
    assert codes("user:mallard", "roles", [], ["import-new"]) in users["changes"]
    assert change("user:mallard", "status", None, "enabled") in users["changes"]
    assert renamed["changes"] == [change("user:mallard", "nickName", "Mallard", "Drake")]


async def test_a_repetition_is_logged_as_a_call_that_reads_an_answer_and_creates_nothing(
    logged: Logged,
) -> None:
    calls, mine = Calls(logged), ("Idempotency-Key", "as often as it takes")
    code = f"role-{next(_numbers)}"
    for _ in range(2):
        await calls.ask("POST", "/api/role", {"roleCode": code, "roleName": code}, mine)

    first, again = await calls.entries()

    assert (first["kind"], first["action"], first["targets"]) == ("INSERT", "create", [f"role:{code}"])
    assert (again["kind"], again["action"]) == ("QUERY", "create (answered again)")
    assert (again["status"], again["targets"], again["changes"]) == (201, None, None)
    assert (again["params"], again["response"]) == (first["params"], first["response"])


async def test_what_front_ends_show_of_a_menu_is_told_without_what_looks_like_a_secret(
    logged: Logged,
) -> None:
    calls = Calls(logged)
    meta = {"layout": "wide", "apiToken": "abc", "text": "pck_0123456789abcdef"}
    menu = await calls.made("/api/menu", {"menuType": "Menu", "title": "Shown", "hidden": True})
    await calls.ask("PATCH", f"/api/menu/{menu}", {"meta": meta, "link": "/help", "keepAlive": True})
    created, edited = await calls.entries()

    assert change("menu:Shown", "hidden", None, True) in created["changes"]
    assert edited["changes"] == [
        change("menu:Shown", "keepAlive", False, True),
        change("menu:Shown", "link", None, "/help"),
        change(
            "menu:Shown", "meta", None, {"text": "[redacted]", "layout": "wide", "apiToken": "[redacted]"}
        ),
    ]


async def test_a_bulk_act_names_each_user_that_it_touches(logged: Logged) -> None:
    calls = Calls(logged)
    people = [await logged.person() for _ in range(2)]
    ids, named = [person.id for person in people], [person.name for person in people]
    await calls.ask("POST", "/api/user/bulk/status", {"ids": ids, "status": "disabled"})
    await calls.ask("POST", "/api/user/bulk/end-sessions", {"ids": ids})
    disabled, kicked = await calls.entries()
    assert disabled["targets"] == kicked["targets"] == [f"user:{name}" for name in named]
    assert disabled["changes"] == [change(f"user:{name}", "status", "enabled", "disabled") for name in named]
    assert kicked["changes"] is None


async def test_the_entries_of_changed_rights_are_those_that_have_changed_who_may_do_what(
    logged: Logged,
) -> None:
    calls = Calls(logged)
    keep, (role_id, code) = await button(logged, "keep:rights"), await role(logged)
    person = await logged.person("user")
    service = {"name": "keeping"}
    await Calls(logged).made("/api/service", service)
    route = {"resourceName": "K", "resourceCode": "keeping", "method": "GET", "path": "/k"}
    resource = await Calls(logged).made("/api/resource", route | {"service": "keeping"})

    given = await calls.ask("PUT", f"/api/role/{role_id}/permissions", {"menuIds": [keep]})
    edit = {"roleIds": [role_id]}
    has = await calls.ask("PATCH", f"/api/user/{person.id}", edit)
    bound = await calls.ask("PUT", f"/api/resource/{resource}/buttons", {"menuIds": [keep]})
    opening = {"service": "keeping", "resourceId": resource, "code": "@login"}
    opened = await calls.ask("POST", "/api/opening", opening)
    account = {"userName": "keeping", "nickName": "K", "kind": "service"}
    key = await calls.ask(
        "POST", f"/api/user/{await Calls(logged).made('/api/user', account)}/keys", {"name": "K"}
    )
    deadline = rfc3339(datetime.now(UTC) + timedelta(days=1))
    asked = {"title": "K", "reviewers": {}, "deadline": deadline, "onSilence": "keep", "apply": "at_end"}
    review = await calls.ask("POST", "/api/review", asked | {"scope": {"userIds": [person.id]}})
    named = await calls.ask("PATCH", f"/api/user/{person.id}", {"nickName": "Keeper"})
    titled = await calls.ask("PATCH", f"/api/role/{role_id}", {"description": code})
    left = await calls.ask("PUT", f"/api/user/{person.id}/status", {"status": "disabled"})
    off = await calls.ask("PATCH", f"/api/role/{role_id}", {"enabled": False})
    await calls.entries()

    async def listed(rights: str) -> list[str]:
        page = await logged.inside.data("GET", f"/api/operation-log/list?rights={rights}&size=100")
        return [entry["requestId"] for entry in page["items"]]

    every = (given, has, bound, opened, named, titled, left, off, key, review)
    assert {answer.status for answer in every} <= {200, 201}
    changed = (off, left, review, key, opened, bound, has, given)
    assert (await listed("true"))[:8] == [answer.header("x-request-id") for answer in changed]
    assert (await listed("false"))[:2] == [answer.header("x-request-id") for answer in (titled, named)]
