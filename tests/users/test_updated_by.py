"""Who has made or last edited a record: on every way of writing it, and nobody for what is no edit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.inside import Inside
from tests.support.members import Member, member

pytestmark = pytest.mark.anyio

ROLE = {"roleCode": "clerk", "roleName": "Clerk"}
BUTTON = {"menuType": "Button", "title": "Read", "authMark": "report:read", "parentId": None}
RESOURCE = {"resourceCode": "report", "resourceName": "Report", "method": "GET", "path": "/api/report/{id}"}
USER = {"userName": "newcomer", "nickName": "Newcomer", "password": "three wary otters"}


async def editor(house: Inside) -> Member:
    return await member(house, "editor", "*")


async def who(house: Inside, path: str) -> Any:
    return (await house.data("GET", path))["updatedBy"]


@pytest.mark.parametrize(
    ("path", "body", "change"),
    [
        ("/api/user", USER, {"nickName": "Other"}),
        ("/api/role", ROLE, {"description": "Other"}),
        ("/api/menu", BUTTON, {"title": "Other"}),
        ("/api/resource", RESOURCE, {"description": "Other"}),
        ("/api/service", {"name": "orders"}, None),
    ],
)
async def test_a_record_names_who_made_it_and_who_edited_it_last(
    house: Inside, path: str, body: dict[str, Any], change: dict[str, Any] | None
) -> None:
    made = await house.data("POST", path, body)
    target = f"{path}/{made['id']}"
    assert (made["updatedBy"], await who(house, target)) == ("admin", "admin")
    if change is None:
        return
    other = await editor(house)
    saved = await other.ask("PATCH", target, change)
    assert saved.status == 200, saved.body
    assert await who(house, target) == "editor"
    listed = (await house.data("GET", f"{path}/list?sort=-id"))["items"]
    assert [entry["updatedBy"] for entry in listed if entry["id"] == made["id"]] == ["editor"]


async def test_what_a_role_gives_names_who_gave_it_and_leaves_the_version(house: Inside) -> None:
    made = await house.data("POST", "/api/role", ROLE)
    target = f"/api/role/{made['id']}"
    other = await editor(house)
    given = await other.ask("PUT", f"{target}/permissions", {"permissions": ["system:role:list"]})
    assert given.status == 200, given.body
    role = await house.data("GET", target)
    assert (role["updatedBy"], role["version"]) == ("editor", made["version"])
    assert role["updateTime"] > made["updateTime"]
    table = {"roles": [{"roleCode": "clerk", "roleName": "Clerk", "permissions": []}]}
    assert (await house.ask("POST", "/api/role/import", table)).status == 200
    assert await who(house, target) == "admin"


async def test_an_import_names_who_imported(house: Inside) -> None:
    other = await editor(house)
    table = {"users": [{"userName": "imported", "nickName": "Imported", "password": "three wary otters"}]}
    done = await other.ask("POST", "/api/user/import", table)
    assert done.status == 200, done.body
    (user,) = (await house.data("GET", "/api/user/list?userName=imported"))["items"]
    assert user["updatedBy"] == "editor"


async def test_what_a_start_has_seeded_names_nobody_and_a_login_is_no_edit(house: Inside) -> None:
    assert await who(house, "/api/role/1") is None
    house.token = await house.log_in()
    assert await who(house, "/api/user/1") is None


async def test_the_own_profile_and_a_status_name_the_caller(house: Inside) -> None:
    other = await editor(house)
    await other.ask("PUT", "/api/user/profile", {"nickName": "Me"})
    assert await who(house, f"/api/user/{other.user_id}") == "editor"
    done = await house.ask("PUT", f"/api/user/{other.user_id}/status", {"status": "disabled"})
    assert done.status == 200, done.body
    assert await who(house, f"/api/user/{other.user_id}") == "admin"
