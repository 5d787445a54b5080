from typing import Any
from urllib.parse import quote

from tests.support.inside import Inside
from tests.support.members import member, query

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


async def test_a_name_or_a_code_that_another_role_has_is_a_conflict(house: Inside) -> None:
    made = await created(house)

    for change, field in (
        ({"roleCode": "x", "roleName": "night AUDIT"}, "roleName"),
        ({"roleCode": "x", "roleName": "\uff2eight audit"}, "roleName"),  # a full-width N
        ({"roleName": "x"}, "roleCode"),
    ):
        answer = await house.ask("POST", "/api/role", AUDIT | change)
        assert (answer.status, answer.code) == (409, "conflict")
        assert (answer.json["field"], answer.json["roleId"]) == (field, made["id"])
    other = await house.data("POST", "/api/role", {"roleName": "Other", "roleCode": "other"})
    taken = await house.ask("PATCH", f"/api/role/{other['id']}", {"roleName": "nIGHT audit"})
    assert (taken.status, taken.json["field"]) == (409, "roleName")


REFUSED: dict[str, list[Any]] = {
    "roleCode": ["", "Night", "night audit", "a:b", "a\n", "ä", "a" * 65],
    "roleName": ["", " x", "x\ny", "x\u200by", "x" * 65, "x\0"],
    "description": ["x" * 1001],
    "enabled": [1],
    "id": [7],
    "version": [7],
    "createTime": ["2026-11-21T02:33:53.123Z"],
    "menuIds": ["1"],
}


async def test_a_value_that_breaks_a_rule_is_refused_by_its_field(shared: Inside) -> None:
    for field, values in REFUSED.items():
        for value in values:
            answer = await shared.ask("POST", "/api/role", AUDIT | {field: value})
            assert (answer.status, answer.fields) == (422, [field]), value


async def test_a_name_is_taken_literally(house: Inside) -> None:
    names = ["'; DROP TABLE sys.role; --", "100%_\\", "<b>x</b>", "a, b [#1]"]
    for number, name in enumerate(names):
        made = await created(house, roleName=name, roleCode=f"r{number}")
        assert (await house.data("GET", f"/api/role/{made['id']}"))["roleName"] == name


async def test_a_role_is_listed_by_a_part_of_its_name_or_of_its_code(house: Inside) -> None:
    made = await created(house)
    for keyword in ("IGHT aud", "ght-aud"):
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
    assert (await house.ask("GET", f"/api/role/{made['id']}")).status == 404


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


async def test_what_is_no_list_of_ids_is_refused_by_its_field(shared: Inside) -> None:
    refused: list[Any] = [[0], ["1"], None, 1, [2**63], [1] * 10_001]
    for ids in refused:
        answer = await shared.ask("PUT", "/api/role/1/permissions", {"menuIds": ids})
        assert answer.status == 422
        assert answer.fields[0].startswith("menuIds")


async def test_permissions_that_somebody_else_has_changed_are_not_overwritten(house: Inside) -> None:
    path = f"/api/role/{(await created(house))['id']}/permissions"
    seen = (await house.ask("GET", path)).header("etag") or ""
    await house.data("PUT", path, {"menuIds": [1]}, ("If-Match", seen))

    late = await house.ask("PUT", path, {"menuIds": []}, ("If-Match", seen))

    assert (late.status, late.code) == (412, "precondition_failed")
    now = await house.ask("GET", path)
    assert now.json["data"]["menuIds"] == [1]
    again = await house.ask("PUT", path, {"menuIds": []}, ("If-Match", now.header("etag") or ""))
    assert again.status == 200


async def test_writing_roles_publishes_nothing(house: Inside) -> None:
    before = (await house.ask("GET", "/api/role/1")).header("x-policy-revision")
    made = await created(house)
    await house.data("PUT", f"/api/role/{made['id']}/permissions", {"menuIds": [1, 2]})
    await house.data("PATCH", f"/api/role/{made['id']}", AUDIT | {"enabled": False})

    answer = await house.ask("DELETE", f"/api/role/{made['id']}")

    assert answer.header("x-policy-revision") == before


async def test_a_list_counts_the_users_and_the_permissions_of_each_role(house: Inside) -> None:
    await member(house, "heron", "system:role:list", "system:user:list", "system:menu:list")

    async def counts(code: str) -> list[tuple[int, int]]:
        listed = await house.data("GET", f"/api/role/list?roleCode={code}")
        return [(role["userCount"], role["permissionCount"]) for role in listed["items"]]

    assert (await counts("heron"), await counts("user")) == ([(1, 3)], [(0, 0)])
    await query(house, "UPDATE sys.user_role SET valid_until = now() - interval '1 hour'")
    assert await counts("heron") == [(0, 3)]


async def test_users_of_a_role_are_counted_for_callers_who_may_list_users(house: Inside) -> None:
    lists = await member(house, "heron", "system:role:list")
    lists_both = await member(house, "ibis", "system:role:list", "system:user:list")

    async def counts(token: str) -> list[int | None]:
        answer = await house.ask("GET", "/api/role/list?roleCode=heron", token=token)
        return [role["userCount"] for role in answer.json["data"]["items"]]

    assert (await counts(lists.token), await counts(lists_both.token)) == ([None], [1])


async def test_who_may_not_list_users_learns_nothing_of_them_by_a_filter_or_a_refused_deletion(
    house: Inside,
) -> None:
    blind = await member(house, "heron", "system:role:list", "system:role:export", "system:role:delete")
    sees = await member(house, "ibis", "*")

    asked = [f"/api/role/{of}?hasUser={each}" for of in ("list", "export") for each in ("true", "false")]
    for answer in [await blind.ask("GET", each) for each in asked]:
        assert (answer.status, answer.code) == (403, "permission_denied")
        assert answer.json["required"] == ["system:user:list"]
    listed = await sees.ask("GET", "/api/role/list?hasUser=true&roleCode=heron")
    assert [role["roleCode"] for role in listed.json["data"]["items"]] == ["heron"]

    refused = [await each.ask("DELETE", f"/api/role/{blind.role_id}") for each in (blind, sees)]
    assert [answer.status for answer in refused] == [409, 409]
    assert [answer.json.get("userCount") for answer in refused] == [None, 1]
    assert [answer.json.get("users") for answer in refused] == [None, ["heron"]]
