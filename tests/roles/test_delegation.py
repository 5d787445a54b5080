"""Nobody gives, takes away or touches by way of a role what they do not hold."""

import asyncio
from typing import Any

import pytest

from tests.support.inside import Inside
from tests.support.members import Member, ids_of, member, query

POWERS = ("system:role:list", "system:role:update", "system:role:delete", "system:role:permission")


async def role_giving(house: Inside, *codes: str) -> int:
    made = await house.data("POST", "/api/role", {"roleName": "Heron", "roleCode": "heron"})
    number: int = made["id"]
    path = f"/api/role/{number}/permissions"
    await house.data("PUT", path, {"menuIds": await ids_of(house, *codes)})
    return number


async def test_a_code_is_given_only_by_who_holds_it(house: Inside) -> None:
    clerk = await member(house, "clerk", *POWERS, "system:user:list")
    role = await role_giving(house)
    path = f"/api/role/{role}/permissions"
    held, lacking = await ids_of(house, "system:user:list", "system:user:delete")

    refused = await clerk.ask("PUT", path, {"menuIds": [held, lacking]})
    allowed = await clerk.ask("PUT", path, {"menuIds": [held]})

    assert (refused.status, refused.code, refused.json["required"]) == (
        403,
        "permission_denied",
        ["system:user:delete"],
    )
    assert allowed.json["data"]["menuIds"] == [held]


@pytest.mark.parametrize("code", ["*", "system:*"])
async def test_a_wildcard_is_given_only_by_who_holds_all_of_it(house: Inside, code: str) -> None:
    everything = await ids_of(house, "*", "system:*")
    (button_id,) = await ids_of(house, code)
    role = await role_giving(house)
    assert len(everything) == 2
    below = await member(house, "below", "system:*")
    clerk = await member(house, "clerk", *POWERS)

    asked = {"menuIds": [button_id]}
    path = f"/api/role/{role}/permissions"

    assert (await clerk.ask("PUT", path, asked)).status == 403
    assert (await below.ask("PUT", path, asked)).status == (200 if code == "system:*" else 403)


@pytest.mark.parametrize("state", ["enabled", "disabled Button", "disabled role"])
async def test_a_role_that_gives_more_is_touched_by_nobody_who_holds_less(house: Inside, state: str) -> None:
    clerk = await member(house, "clerk", *POWERS)
    role = await role_giving(house, "system:role:list", "system:user:delete")
    if state == "disabled Button":
        await query(house, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:user:delete'")
    if state == "disabled role":
        await query(house, "UPDATE sys.role SET enabled = false WHERE id = %s", role)

    for method, path, body in (
        ("PATCH", "", {"roleName": "Mine"}),
        ("PATCH", "", {"roleName": "Mine", "enabled": state == "disabled role"}),
        ("DELETE", "", None),
        ("PUT", "/permissions", {"menuIds": []}),
    ):
        answer = await clerk.ask(method, f"/api/role/{role}{path}", body)
        assert (answer.status, answer.json["required"]) == (403, ["system:user:delete"])

    rows = await query(house, "SELECT role_name, enabled, version FROM sys.role WHERE id = %s", role)
    assert rows == [("Heron", state != "disabled role", 1)]
    assert (await clerk.ask("GET", f"/api/role/{role}")).status == 200


async def test_menus_are_given_by_callers_who_may_write_the_role(house: Inside) -> None:
    clerk = await member(house, "clerk", *POWERS)
    role = await role_giving(house)
    pages = [row[0] for row in await query(house, "SELECT id FROM sys.menu WHERE menu_type = 'Menu'")]

    answer = await clerk.ask("PUT", f"/api/role/{role}/permissions", {"menuIds": pages})

    assert answer.json["data"]["menuIds"] == sorted(pages)


async def test_a_token_that_says_more_than_is_stored_gives_no_more(house: Inside) -> None:
    """The role has lost the code past the service, so that no marker has stopped the token."""
    clerk = await member(house, "clerk", *POWERS, "system:user:list")
    role = await role_giving(house)
    (listing,) = await ids_of(house, "system:user:list")
    await query(
        house, "DELETE FROM sys.role_menu WHERE role_id = %s AND menu_id = %s", clerk.role_id, listing
    )

    answer = await clerk.ask("PUT", f"/api/role/{role}/permissions", {"menuIds": [listing]})

    assert (answer.status, answer.json["required"]) == (403, ["system:user:list"])


async def test_the_role_of_the_last_administrator_stays_as_it_is(house: Inside) -> None:
    ((role,),) = await query(house, "SELECT id FROM sys.role WHERE role_code = 'super'")
    (below,) = await ids_of(house, "system:*")
    for path, body in (
        ("", {"roleName": "Super", "description": None, "enabled": False}),
        ("/permissions", {"menuIds": []}),
        ("/permissions", {"menuIds": [below]}),
    ):
        answer = await house.ask("PUT", f"/api/role/{role}{path}", body)
        assert (answer.status, answer.code) == (409, "conflict")
    assert (await house.ask("GET", "/api/role/list")).status == 200


async def test_of_the_last_two_roles_of_administrators_emptied_at_once_one_stays(house: Inside) -> None:
    (everything,) = await ids_of(house, "*")
    ((role,),) = await query(house, "SELECT id FROM sys.role WHERE role_code = 'super'")
    second = await member(house, "second", "*")
    await query(house, "UPDATE sys.role SET role_name = 'Super' WHERE id = %s", role)
    paths = {role: "Super", second.role_id: "second"}
    for number in range(10):
        asked: list[Any] = [
            house.ask("PATCH", f"/api/role/{role_id}", {"roleName": name, "enabled": False})
            if number % 2
            else house.ask("PUT", f"/api/role/{role_id}/permissions", {"menuIds": []})
            for role_id, name in paths.items()
        ]
        done = await asyncio.gather(*asked)

        # The caller is one of the two administrators: emptied first, nothing of theirs is done any more.
        assert sorted(answer.status for answer in done) in ([200, 401], [200, 403], [200, 409])
        await query(house, "UPDATE sys.role SET enabled = true")
        for role_id in paths:
            await query(
                house, "INSERT INTO sys.role_menu VALUES (%s, %s) ON CONFLICT DO NOTHING", role_id, everything
            )
        house.token = await house.log_in()


class TestConsequences:
    """The next request of an affected user is decided by the changed roles."""

    @pytest.mark.parametrize(
        ("path", "body", "left"),
        [
            ("/permissions", {"menuIds": []}, set[str]()),
            ("", {"roleName": "clerk", "description": None, "enabled": False}, set[str]()),
        ],
    )
    async def test_users_who_lose_rights_by_a_role_must_refresh_and_have_lost_them(
        self, house: Inside, path: str, body: Any, left: set[str]
    ) -> None:
        clerk = await member(house, "clerk", "system:role:list")
        assert (await clerk.ask("GET", "/api/role/list")).status == 200

        await house.data("PUT", f"/api/role/{clerk.role_id}{path}", body)
        answer = await clerk.ask("GET", "/api/role/list")

        assert (answer.status, answer.code) == (401, "refresh_required")
        assert await clerk.held() == left
        assert (await clerk.ask("GET", "/api/role/list")).status == 403

    async def test_users_who_gain_rights_by_a_role_must_refresh_and_have_them(self, house: Inside) -> None:
        clerk = await member(house, "clerk")
        listing = await ids_of(house, "system:role:list")

        await house.data("PUT", f"/api/role/{clerk.role_id}/permissions", {"menuIds": listing})

        assert (await clerk.ask("GET", "/api/user/info")).status == 401
        assert await clerk.held() == {"system:role:list"}
        assert (await clerk.ask("GET", "/api/role/list")).status == 200

    async def test_users_who_are_not_affected_go_on(self, house: Inside) -> None:
        clerk = await member(house, "clerk", "system:role:list")
        other = await member(house, "other", "system:role:list")
        path = f"/api/role/{other.role_id}"

        await house.data("PATCH", path, {"roleName": "Another name"})
        await house.data("PUT", f"{path}/permissions", {"menuIds": await ids_of(house, "system:role:list")})
        assert (await other.ask("GET", "/api/role/list")).status == 200
        await house.data("PUT", f"{path}/permissions", {"menuIds": []})

        assert (await other.ask("GET", "/api/role/list")).status == 401
        assert (await clerk.ask("GET", "/api/role/list")).status == 200


async def test_a_caller_who_was_disabled_meanwhile_changes_nothing(house: Inside) -> None:
    clerk: Member = await member(house, "clerk", *POWERS, "system:role:create")
    await query(house, "UPDATE sys.user SET status = 'disabled' WHERE id = %s", clerk.user_id)

    answer = await clerk.ask("POST", "/api/role", {"roleName": "x", "roleCode": "x"})

    assert (answer.status, answer.code) == (401, "refresh_required")
