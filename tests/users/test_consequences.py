"""What follows at once from a change of a user, and who is named for it."""

import asyncio
from typing import Any

import psycopg
import pytest
import redis

from tests.support.inside import Inside
from tests.support.members import Member, member
from tests.support.without import is_served
from tests.users.people import PASSWORD, execute, made, role_id

LOGIN = {"userName": "heron", "password": PASSWORD}


async def pair_of(house: Inside, login: dict[str, str] = LOGIN) -> Any:
    return (await house.ask("POST", "/api/auth/login", login)).json["data"]


async def code_of(house: Inside, token: str, path: str = "/api/user/info") -> str | int:
    answer = await house.ask("GET", path, token=token)
    return answer.status if answer.status == 200 else answer.code


async def test_roles_given_and_taken_are_felt_by_the_next_request(house: Inside) -> None:
    heron = await made(house)
    path = f"/api/user/{heron['id']}"
    pair = await pair_of(house)
    for roles, expected in (([role_id(house, "auditor")], 200), ([], "permission_denied")):
        await house.data("PATCH", path, {"roleIds": roles})

        assert await code_of(house, pair["accessToken"]) == "refresh_required"
        pair = await house.data("POST", "/api/auth/refresh", {"refreshToken": pair["refreshToken"]})
        assert await code_of(house, pair["accessToken"], "/api/user/list") == expected


@pytest.mark.parametrize(
    ("change", "expected"), [({"nickName": "Egret"}, 200), ({"userName": "egret"}, "refresh_required")]
)
async def test_new_names_stand_in_the_tokens_after_a_refresh_which_only_user_names_require(
    house: Inside, change: dict[str, str], expected: str | int
) -> None:
    heron = await made(house)
    pair = await pair_of(house)

    await house.data("PATCH", f"/api/user/{heron['id']}", change)

    assert await code_of(house, pair["accessToken"]) == expected
    await house.data("POST", "/api/auth/refresh", {"refreshToken": pair["refreshToken"]})
    online = await house.data("GET", "/api/online/list?size=200")
    assert any(session.items() >= change.items() for session in online["items"])


async def test_what_no_token_says_leaves_the_tokens_alone(house: Inside) -> None:
    heron = await made(house)
    pair = await pair_of(house)

    await house.data(
        "PATCH", f"/api/user/{heron['id']}", {"phone": "123", "roleIds": [], "status": "enabled"}
    )

    assert await code_of(house, pair["accessToken"]) == 200


async def test_an_edit_that_disables_bans_and_one_that_enables_clears_the_ban(house: Inside) -> None:
    heron = await made(house)
    pair = await pair_of(house)

    await house.data("PATCH", f"/api/user/{heron['id']}", {"status": "disabled"})
    assert await code_of(house, pair["accessToken"]) == "account_banned"
    assert (await house.ask("POST", "/api/auth/login", LOGIN)).code == "account_disabled"

    await house.data("PATCH", f"/api/user/{heron['id']}", {"status": "enabled"})
    assert await code_of(house, pair["accessToken"]) == "refresh_required"
    assert await code_of(house, (await pair_of(house))["accessToken"]) == 200


async def test_an_edit_that_changes_no_status_lifts_no_ban(house: Inside) -> None:
    heron = await made(house)
    pair = await pair_of(house)
    await house.data("POST", f"/api/online/{heron['id']}/ban", {})

    await house.data("PATCH", f"/api/user/{heron['id']}", {"status": "enabled", "nickName": "Egret"})

    assert await code_of(house, pair["accessToken"]) == "account_banned"


@pytest.mark.parametrize("disabled", [False, True])
async def test_nothing_of_a_deleted_user_lives_on_in_one_of_the_same_name(
    house: Inside, *, disabled: bool
) -> None:
    heron = await made(house)
    pair = await pair_of(house)
    if disabled:
        await house.data("PUT", f"/api/user/{heron['id']}/status", {"status": "disabled"})

    await house.data("DELETE", f"/api/user/{heron['id']}")
    again = await made(house)

    assert again["id"] != heron["id"]
    assert await code_of(house, pair["accessToken"]) == "refresh_required"
    refused = await house.ask("POST", "/api/auth/refresh", {"refreshToken": pair["refreshToken"]})
    assert (refused.status, refused.code) == (401, "refresh_rejected")
    assert await code_of(house, (await pair_of(house))["accessToken"]) == 200
    with redis.Redis.from_url(house.redis_url) as store:
        of_the_old = [key for key in store.scan_iter(f"auth:*:{heron['id']}*") if store.ttl(key) == -1]
    assert of_the_old == []


async def test_tokens_are_refused_before_the_change_is_committed(service: Inside) -> None:
    """Were this process killed right after the commit, nobody would mark the user any more."""
    heron = await made(service, "heron", role_id(service, "auditor"))
    pair = await pair_of(service)
    execute(
        service,
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END'",
    )
    execute(
        service,
        "CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON sys.user DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION slow()",
    )
    with psycopg.connect(service.database_url) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(42)")
        change = asyncio.create_task(service.ask("PATCH", f"/api/user/{heron['id']}", {"roleIds": []}))
        for _ in range(1000):
            if await code_of(service, pair["accessToken"]) == "refresh_required":
                break
            await asyncio.sleep(0.01)
        else:
            pytest.fail("the token works until the commit")
        assert not change.done()
    assert (await change).status == 200


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
    if is_served("POST /api/role/import"):
        assert (await house.ask("POST", "/api/role/import", table)).status == 200
        assert await who(house, target) == "admin"


@pytest.mark.feature("tables")
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
