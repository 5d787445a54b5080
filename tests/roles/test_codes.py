"""Roles are given permissions by codes as well as by ids."""

from typing import Any

import pytest

from tests.support.inside import Inside
from tests.support.members import ids_of, member, query

NEW = {"roleName": "Night audit", "roleCode": "night-audit"}
CODES = ["system:role:list", "system:user:list"]
EDITING = ("system:role:create", "system:role:update")


async def given(house: Inside, role_id: int) -> Any:
    return await house.data("GET", f"/api/role/{role_id}/permissions")


async def pages(house: Inside, *titles: str) -> set[int]:
    rows = await query(
        house, "SELECT id FROM sys.menu WHERE menu_type = 'Menu' AND title = ANY (%s)", list(titles)
    )
    return {page_id for (page_id,) in rows}


async def test_a_new_role_gives_the_buttons_of_its_codes_and_the_menus_above_them(house: Inside) -> None:
    made = await house.data("POST", "/api/role", NEW | {"permissions": CODES})

    rights = await given(house, made["id"])
    above = await pages(house, "System", "Roles", "Users")
    assert rights["permissions"] == CODES
    assert set(rights["menuIds"]) == above | set(await ids_of(house, *CODES))


async def test_codes_replace_the_buttons_and_leave_the_menus(house: Inside) -> None:
    (files,) = await pages(house, "Files")
    made = await house.data("POST", "/api/role", NEW)
    path = f"/api/role/{made['id']}"
    await house.data("PUT", f"{path}/permissions", {"menuIds": [files, *await ids_of(house, CODES[0])]})

    put = await house.data("PUT", f"{path}/permissions", {"permissions": CODES})
    # Only the Menus above a new Button are added: this role had the first one without a page.
    assert set(put["menuIds"]) == {
        files,
        *await pages(house, "System", "Users"),
        *await ids_of(house, *CODES),
    }
    patched = await house.data("PATCH", path, {"permissions": [CODES[1]], "description": "One"})
    assert (patched["description"], patched["version"]) == ("One", 2)
    rights = await given(house, made["id"])
    assert rights["permissions"] == [CODES[1]]
    assert set(put["menuIds"]) - set(rights["menuIds"]) == set(await ids_of(house, CODES[0]))
    await house.data("PATCH", path, {"description": "Two"})
    assert await given(house, made["id"]) == rights


async def test_ids_and_codes_together_must_name_the_same_buttons(house: Inside) -> None:
    made = await house.data("POST", "/api/role", NEW | {"permissions": CODES})
    path = f"/api/role/{made['id']}/permissions"
    before = await given(house, made["id"])

    assert await house.data("PUT", path, before) == before
    for change in ({"permissions": CODES[:1]}, {"menuIds": await ids_of(house, CODES[0])}):
        for method, target in (("PUT", path), ("PATCH", f"/api/role/{made['id']}")):
            assert (await house.ask(method, target, before | change)).fields == ["permissions"]
    assert (await house.ask("PUT", path, {})).fields == ["menuIds"]
    assert await given(house, made["id"]) == before


async def test_codes_that_no_button_carries_are_refused_by_their_place(house: Inside) -> None:
    made = await house.data("POST", "/api/role", NEW)
    body = {"permissions": ["no:such", CODES[0], "*:*"]}

    for method, path in (
        ("POST", "/api/role"),
        ("PATCH", f"/api/role/{made['id']}"),
        ("PUT", f"/api/role/{made['id']}/permissions"),
    ):
        request_body = {"roleName": "Other", "roleCode": "other"} | body if method == "POST" else body
        answer = await house.ask(method, path, request_body)
        assert (answer.status, answer.fields) == (422, ["permissions[0]", "permissions[2]"])
    assert (await house.data("GET", "/api/role/list?roleCode=other"))["total"] == 0


@pytest.mark.parametrize("member_", ["permissions", "menuIds"])
async def test_to_give_something_needs_the_permission_for_that_and_what_is_given(
    house: Inside, member_: str
) -> None:
    value = CODES[:1] if member_ == "permissions" else await ids_of(house, CODES[0])
    lacking = await member(house, "lacking", *EDITING, *CODES)
    poor = await member(house, "poor", *EDITING, "system:role:permission")
    rich = await member(house, "rich", *EDITING, "system:role:permission", *CODES)
    role = await house.data("POST", "/api/role", {"roleName": "Empty", "roleCode": "empty"})

    for method, path, body in (("POST", "/api/role", NEW), ("PATCH", f"/api/role/{role['id']}", {})):
        request_body = body | {member_: value}
        refused = await lacking.ask(method, path, request_body)
        assert (refused.status, refused.json["layer"]) == (403, "endpoint")
        assert refused.json["required"] == ["system:role:permission"]
        refused = await poor.ask(method, path, request_body)
        assert (refused.status, refused.json["required"]) == (403, CODES[:1])
        assert (await rich.ask(method, path, request_body)).status in (200, 201)
        assert (await lacking.ask("PATCH", f"/api/role/{role['id']}", {"description": "x"})).status == 200


async def test_users_whose_rights_change_by_a_patch_must_refresh(house: Inside) -> None:
    clerk = await member(house, "clerk", *CODES)

    await house.data("PATCH", f"/api/role/{clerk.role_id}", {"permissions": CODES[:1]})

    assert (await clerk.ask("GET", "/api/role/list")).code == "refresh_required"
    impact = await house.preview("PATCH", f"/api/role/{clerk.role_id}", {"permissions": []})
    assert [loss["roleCode"] for loss in impact["loses"]] == ["clerk"]
