"""A client that provisions raises nobody above its ceiling, itself least, and locks nobody out."""

import random
from typing import Any, Final

import pytest

from service.records.installation.seed_catalogue import ADMINISTRATOR_ROLE
from tests.features.scim.scim_client import GROUP, MAPPING, PATCH, USER, ScimClient, roles_of, scim_client
from tests.support.inside import Inside
from tests.support.members import member, query

RIGHTS: Final = "SELECT user_id, role_id, source FROM sys.user_role WHERE source <> 'directory' ORDER BY 1, 2"
ABOVE: Final = (
    "SELECT u.id, u.user_name, u.nick_name, u.email, u.status, u.version FROM sys.user u"
    " WHERE u.user_name IN ('admin', 'feed', 'raised', 'local') ORDER BY 1"
)


@pytest.fixture
async def entra(house: Inside) -> ScimClient:
    return await scim_client(house, "feed")


async def _raised(house: Inside, user_id: str) -> None:
    """Give a provisioned user a role that the directory may not hand out."""
    lord = await member(house, "lord", "system:user:list")
    answer = await house.ask("POST", f"/api/user/{user_id}/roles", {"roleId": lord.role_id})
    assert answer.status in (200, 201), answer.body


async def test_who_holds_more_is_disabled_and_not_edited_otherwise(house: Inside, entra: ScimClient) -> None:
    user_id = await entra.user("raised", emails=[{"value": "r@example.org"}])
    await _raised(house, user_id)
    body = {"schemas": [USER], "userName": "raised", "displayName": "Changed"}
    assert await entra.refused("PUT", f"/Users/{user_id}", body) == (403, None)
    group = await entra.group("Readers", user_id)
    assert await roles_of(house, user_id) == {"lord"}

    made = await entra.data("PUT", f"/Users/{user_id}", body | {"active": False})
    assert (made["active"], made.get("displayName")) == (False, None)
    assert await entra.refused("PUT", f"/Users/{user_id}", body | {"active": True}) == (403, None)
    await entra.data("DELETE", f"/Groups/{group}")
    stored = await house.data("GET", f"/api/user/{user_id}")
    assert (stored["status"], stored["nickName"], stored["email"]) == ("disabled", "raised", "r@example.org")


async def test_who_has_come_above_the_ceiling_still_loses_what_the_directory_gave(
    house: Inside, entra: ScimClient
) -> None:
    user_id = await entra.user("raised")
    group = await entra.group("Both", user_id)
    await _raised(house, user_id)
    await entra.patch(f"/Groups/{group}", {"op": "remove", "path": f'members[value eq "{user_id}"]'})
    assert await roles_of(house, user_id) == {"lord"}


async def test_the_last_administrator_is_never_disabled(house: Inside, entra: ScimClient) -> None:
    user_id = await entra.user("chief")
    (admin_role,) = [
        role["id"]
        for role in (await house.data("GET", "/api/role/list?size=200"))["items"]
        if role["roleCode"] == ADMINISTRATOR_ROLE
    ]
    await house.data("POST", f"/api/user/{user_id}/roles", {"roleId": admin_role})
    same = "SET password_hash = (SELECT password_hash FROM sys.user WHERE id = 1)"
    await query(house, f"UPDATE sys.user {same} WHERE id = %s", int(user_id))
    await query(house, "UPDATE sys.user SET status = 'disabled' WHERE id = 1")
    try:
        patch = {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "active", "value": False}]}
        assert await entra.refused("PATCH", f"/Users/{user_id}", patch) == (409, None)
        assert await entra.refused("DELETE", f"/Users/{user_id}") == (409, None)
    finally:
        await query(house, "UPDATE sys.user SET status = 'enabled' WHERE id = 1")
    assert (await entra.data("PATCH", f"/Users/{user_id}", patch))["active"] is False


async def test_the_last_administrator_keeps_the_role_that_a_group_gives(
    house: Inside, entra: ScimClient
) -> None:
    body = {
        "kind": "scim",
        "client": "feed",
        "mapping": [{"group": "Chiefs", "roles": [ADMINISTRATOR_ROLE]}],
        "ceiling": ["*"],
    }
    await house.data("PUT", "/api/directory/entra", body)
    chief = await entra.user("chief")
    group = await entra.group("Chiefs", chief)
    assert await roles_of(house, chief) == {ADMINISTRATOR_ROLE}
    same = "SET password_hash = (SELECT password_hash FROM sys.user WHERE id = 1)"
    await query(house, f"UPDATE sys.user {same} WHERE id = %s", int(chief))
    await query(house, "UPDATE sys.user SET status = 'disabled' WHERE id = 1")
    try:
        removed = {"op": "remove", "path": f'members[value eq "{chief}"]'}
        renamed = {"op": "replace", "path": "displayName", "value": "Former chiefs"}
        for operation in (removed, renamed):
            patch = {"schemas": [PATCH], "Operations": [operation]}
            assert await entra.refused("PATCH", f"/Groups/{group}", patch) == (409, None)
        assert await entra.refused("DELETE", f"/Groups/{group}") == (409, None)
        assert await entra.refused("DELETE", f"/Users/{chief}") == (409, None)
    finally:
        await query(house, "UPDATE sys.user SET status = 'enabled' WHERE id = 1")
    await entra.data("DELETE", f"/Groups/{group}")
    assert await roles_of(house, chief) == set()


@pytest.mark.parametrize("tries", [40, pytest.param(500, marks=pytest.mark.extended)])
async def test_no_tries_of_a_client_raise_anybody_above_its_ceiling(
    house: Inside, entra: ScimClient, tries: int
) -> None:
    raised, plain = await entra.user("raised"), await entra.user("plain")
    await _raised(house, raised)
    local = await member(house, "local")
    await entra.group("Readers", plain)
    targets = [raised, plain, "1", str(entra.user_id), str(local.user_id)]
    before, above = await query(house, RIGHTS), await query(house, ABOVE)
    chance = random.Random(500)
    names = [str(each["group"]) for each in MAPPING] + [
        "admin",
        "lord",
        "*",
        "feed",
        "Administrators",
        "system",
    ]
    accepted = 0
    for number in range(tries):
        method, target, body = _try(chance, targets, names, number)
        answer = await entra.ask(method, target, body)
        assert answer.status < 500, (method, target, body, answer.body)
        accepted += answer.status < 300
    assert await query(house, RIGHTS) == before
    assert await query(house, ABOVE) == above
    given = await query(
        house,
        "SELECT DISTINCT r.role_code FROM sys.user_role ur JOIN sys.role r ON r.id = ur.role_id"
        " WHERE ur.source = 'directory'",
    )
    assert {code for (code,) in given} <= {"reader", "lister"}
    with_roles = await query(house, "SELECT DISTINCT user_id FROM sys.user_role WHERE source = 'directory'")
    known = await query(house, "SELECT user_id FROM sys.scim_user")
    assert set(with_roles) <= set(known)
    assert 0 < accepted < tries


def _try(chance: random.Random, targets: list[str], names: list[str], number: int) -> tuple[str, str, Any]:
    """Return a request that would raise somebody if anything were open."""
    target, name = chance.choice(targets), chance.choice(names)
    member_of = {"value": target, "type": chance.choice(("User", "user"))}
    more = {
        "roles": [{"value": name}],
        "groups": [{"value": "1", "display": name}],
        "entitlements": [{"value": "*"}],
        "urn:portcullis:User": {"roleIds": [1], "kind": "service"},
        "roleIds": [1],
        "kind": "person",
        "status": "enabled",
    }
    path = chance.choice(
        ("roles", "groups", 'groups[value eq "1"].display', "entitlements", "displayName", "id")
    )
    value = [{"value": name}] if path != "displayName" else f"Name {number}"
    kinds = (
        ("POST", "/Groups", {"schemas": [GROUP], "displayName": name, "members": [member_of]}),
        ("POST", "/Users", {"schemas": [USER], "userName": f"new-{number}", **more}),
        ("POST", "/Users", {"schemas": [USER], "userName": chance.choice(("admin", "feed", "local"))}),
        ("PUT", f"/Users/{targets[0]}", {"schemas": [USER], "userName": f"r-{number}", **more}),
        ("PUT", f"/Users/{target}", {"schemas": [USER], "userName": "admin", **more}),
        (
            "PATCH",
            f"/Users/{chance.choice([each for each in targets if each != targets[0]])}",
            {"schemas": [PATCH], "Operations": [{"op": "add", "path": path, "value": value}]},
        ),
        (
            "PATCH",
            f"/Groups/{chance.randint(1, 30)}",
            {
                "schemas": [PATCH],
                "Operations": [
                    {"op": "replace", "value": {"displayName": name}},
                    {"op": "add", "path": "members", "value": [member_of]},
                ],
            },
        ),
        ("DELETE", f"/Users/{chance.choice(targets[2:])}", None),
    )
    return chance.choice(kinds)
