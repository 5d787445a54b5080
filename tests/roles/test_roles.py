from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.support.inside import Inside
from tests.support.members import member, query

pytestmark = pytest.mark.anyio

AUDIT = {"roleName": "Night audit", "roleCode": "night-audit"}


async def created(house: Inside, **changes: Any) -> Any:
    return await house.data("POST", "/api/role", AUDIT | changes)


async def test_a_new_role_is_answered_whole_and_gives_nothing(house: Inside) -> None:
    answer = await house.ask("POST", "/api/role", AUDIT | {"description": "At night"})

    data = answer.json["data"]
    assert (answer.status, answer.header("etag")) == (201, '"1"')
    assert data.items() >= AUDIT.items()
    assert (data["description"], data["enabled"], data["version"]) == ("At night", True, 1)
    assert await house.data("GET", f"/api/role/{data['id']}") == data
    given = await house.data("GET", f"/api/role/{data['id']}/permissions")
    assert given == {"menuIds": [], "permissions": []}


async def test_a_put_replaces_all_values_of_a_role(house: Inside) -> None:
    made = await created(house, enabled=False, description="Old")
    values = {"roleName": "NIGHT AUDIT", "description": None, "enabled": True}

    saved = await house.data("PUT", f"/api/role/{made['id']}", values)

    assert saved == made | values | {"version": 2, "updateTime": saved["updateTime"]}


async def test_a_patch_changes_what_it_has_and_null_removes(house: Inside) -> None:
    made = await created(house, enabled=False, description="Old")
    path = f"/api/role/{made['id']}"

    saved = await house.data("PATCH", path, {"roleName": "NIGHT AUDIT"})
    assert saved == made | {"roleName": "NIGHT AUDIT", "version": 2, "updateTime": saved["updateTime"]}
    assert (await house.data("PATCH", path, {"description": None}))["description"] is None
    assert (await house.ask("PATCH", path, {"roleName": None})).fields == ["roleName"]


async def test_the_code_of_a_role_is_never_changed(house: Inside) -> None:
    made = await created(house)
    path = f"/api/role/{made['id']}"

    refused = await house.ask("PATCH", path, AUDIT | {"roleCode": "super-2"})
    same = await house.ask("PATCH", path, AUDIT)

    assert (refused.status, refused.fields) == (422, ["roleCode"])
    assert (same.status, same.json["data"]["roleCode"]) == (200, "night-audit")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"roleCode": "x", "roleName": "night AUDIT"}, "roleName"),
        ({"roleCode": "x", "roleName": "\uff2eight audit"}, "roleName"),  # a full-width N
        ({"roleName": "x"}, "roleCode"),
    ],
)
async def test_a_name_or_a_code_that_another_role_has_is_a_conflict(
    house: Inside, change: dict[str, str], field: str
) -> None:
    made = await created(house)

    answer = await house.ask("POST", "/api/role", AUDIT | change)

    assert (answer.status, answer.code) == (409, "conflict")
    assert (answer.json["field"], answer.json["roleId"]) == (field, made["id"])
    other = await house.data("POST", "/api/role", {"roleName": "Other", "roleCode": "other"})
    taken = await house.ask("PATCH", f"/api/role/{other['id']}", {"roleName": "nIGHT audit"})
    assert (taken.status, taken.json["field"]) == (409, "roleName")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("roleCode", ""),
        ("roleCode", "Night"),
        ("roleCode", "night audit"),
        ("roleCode", "a:b"),
        ("roleCode", "a\n"),
        ("roleCode", "ä"),
        ("roleCode", "a" * 65),
        ("roleName", ""),
        ("roleName", " x"),
        ("roleName", "x\ny"),
        ("roleName", "x\u200by"),
        ("roleName", "x" * 65),
        ("roleName", "x\0"),
        ("description", "x" * 1001),
        ("enabled", 1),
        ("id", 7),
        ("version", 7),
        ("createTime", "2026-11-21T02:33:53.123Z"),
        ("menuIds", "1"),
    ],
)
async def test_a_value_that_breaks_a_rule_is_refused_by_its_field(
    shared: Inside, field: str, value: Any
) -> None:
    answer = await shared.ask("POST", "/api/role", AUDIT | {field: value})

    assert (answer.status, answer.fields) == (422, [field])


async def test_a_name_is_taken_literally(house: Inside) -> None:
    names = ["'; DROP TABLE sys.role; --", "100%_\\", "<b>x</b>", "a, b [#1]"]
    for number, name in enumerate(names):
        made = await created(house, roleName=name, roleCode=f"r{number}")
        assert (await house.data("GET", f"/api/role/{made['id']}"))["roleName"] == name


@pytest.mark.parametrize("keyword", ["IGHT aud", "ght-aud"])
async def test_a_role_is_listed_by_a_part_of_its_name_or_of_its_code(house: Inside, keyword: str) -> None:
    made = await created(house)
    listed = await house.data("GET", f"/api/role/list?keyword={quote(keyword)}")
    assert [role["id"] for role in listed["items"]] == [made["id"]]


async def test_a_role_that_users_have_is_not_deleted_and_some_of_them_are_named(house: Inside) -> None:
    role = (await member(house, "heron")).role_id
    for name in ("ibis", "stork", "crane", "bittern", "egret"):
        user = (await member(house, name)).user_id
        await query(house, "INSERT INTO sys.user_role VALUES (%s, %s)", user, role)

    answer = await house.ask("DELETE", f"/api/role/{role}")

    assert (answer.status, answer.code) == (409, "conflict")
    assert answer.json["users"] == ["heron", "ibis", "stork", "crane", "bittern"]
    assert answer.json["userCount"] == 6


async def test_a_role_without_users_is_deleted_and_its_name_is_free(house: Inside) -> None:
    made = await created(house)
    await house.data("PUT", f"/api/role/{made['id']}/permissions", {"menuIds": [1, 2]})

    assert await house.data("DELETE", f"/api/role/{made['id']}") is None

    assert (await created(house))["id"] > made["id"]
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"roleName": "x"}),
        ("DELETE", "", None),
        ("GET", "/permissions", None),
        ("PUT", "/permissions", {"menuIds": []}),
    ):
        answer = await house.ask(method, f"/api/role/{made['id']}{path}", body)
        assert (answer.status, answer.code) == (404, "not_found")


async def test_the_menus_of_a_role_are_replaced_as_a_whole(house: Inside) -> None:
    made = await created(house)
    path = f"/api/role/{made['id']}/permissions"

    assert (await house.data("PUT", path, {"menuIds": [3, 1, 3]}))["menuIds"] == [1, 3]
    assert (await house.data("PUT", path, {"menuIds": [2]}))["menuIds"] == [2]

    assert (await house.data("GET", path))["menuIds"] == [2]
    assert (await house.data("GET", f"/api/role/{made['id']}"))["version"] == 1


async def test_one_bad_id_leaves_the_menus_of_a_role_as_they_were(house: Inside) -> None:
    made = await created(house)
    path = f"/api/role/{made['id']}/permissions"
    await house.data("PUT", path, {"menuIds": [1]})

    answer = await house.ask("PUT", path, {"menuIds": [2, 10**9, 3, 10**10]})

    assert (answer.status, answer.fields) == (422, ["menuIds[1]", "menuIds[3]"])
    assert (await house.data("GET", path))["menuIds"] == [1]


@pytest.mark.parametrize("ids", [[0], ["1"], None, 1, [2**63], [1] * 10_001])
async def test_what_is_no_list_of_ids_is_refused_by_its_field(shared: Inside, ids: Any) -> None:
    answer = await shared.ask("PUT", "/api/role/1/permissions", {"menuIds": ids})
    assert answer.status == 422
    assert answer.fields[0].startswith("menuIds")


async def test_what_somebody_else_has_changed_is_not_overwritten(house: Inside) -> None:
    path = f"/api/role/{(await created(house))['id']}"
    seen = {url: (await house.ask("GET", url)).header("etag") or "" for url in (path, f"{path}/permissions")}
    await house.data("PATCH", path, AUDIT | {"description": "Theirs"}, ("If-Match", seen[path]))
    await house.data(
        "PUT", f"{path}/permissions", {"menuIds": [1]}, ("If-Match", seen[f"{path}/permissions"])
    )

    for method, target, body in (
        ("PATCH", path, AUDIT),
        ("DELETE", path, None),
        ("PUT", f"{path}/permissions", {"menuIds": []}),
    ):
        seen_before = seen.get(target, seen[path])
        answer = await house.ask(method, target, body, ("If-Match", seen_before))
        assert (answer.status, answer.code) == (412, "precondition_failed")

    now = await house.ask("GET", f"{path}/permissions")
    assert now.json["data"]["menuIds"] == [1]
    again = await house.ask(
        "PUT", f"{path}/permissions", {"menuIds": []}, ("If-Match", now.header("etag") or "")
    )
    assert again.status == 200
    await house.data("DELETE", path, None, ("If-Match", '"2"'))


async def test_writing_roles_publishes_nothing(house: Inside) -> None:
    before = (await house.ask("GET", "/api/role/1")).header("x-policy-revision")
    made = await created(house)
    await house.data("PUT", f"/api/role/{made['id']}/permissions", {"menuIds": [1, 2]})
    await house.data("PATCH", f"/api/role/{made['id']}", AUDIT | {"enabled": False})

    answer = await house.ask("DELETE", f"/api/role/{made['id']}")

    assert answer.header("x-policy-revision") == before
