"""Attacks by a client that provisions, and by a member of its groups: nobody gains, nothing falls over."""

import json
from typing import Any, Final
from urllib.parse import quote

import pytest

from service.features.scim.patches import MAX_OPERATIONS
from tests.features.scim.scim_client import GROUP, PATCH, USER, ScimClient, roles_of, scim_client
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import member, query

MERGE: Final = ("Content-Type", "application/merge-patch+json")
ACTIVE: Final = {"op": "replace", "path": "active", "value": True}
INACTIVE: Final = ACTIVE | {"value": False}
SAME_PASSWORD: Final = (
    "UPDATE sys.user SET password_hash = (SELECT password_hash FROM sys.user WHERE id = 1) WHERE id = %s"
)


@pytest.fixture
async def entra(house: Inside) -> ScimClient:
    return await scim_client(house)


ADMINISTRATORS = (
    *("ADMIN", "admin ", "\u0430dmin", "\uff41\uff44\uff4d\uff49\uff4e", "\u24d0dmin"),
    *("admin\u200b", "ad\u00admin", "ad\u202emin", "admin\ufeff", "admin\x00"),
)


async def test_no_name_that_is_read_as_that_of_the_administrator_is_taken(entra: ScimClient) -> None:
    heron = await entra.user("heron")
    for name in ADMINISTRATORS:
        body = {"schemas": [USER], "userName": name}
        assert (await entra.refused("POST", "/Users", body))[0] in (400, 409)
        assert (await entra.refused("PUT", f"/Users/{heron}", body))[0] in (400, 409)
        rename = {"op": "replace", "path": "userName", "value": name}
        patch = {"schemas": [PATCH], "Operations": [rename]}
        assert (await entra.refused("PATCH", f"/Users/{heron}", patch))[0] in (400, 409)


async def test_a_local_account_is_neither_found_nor_joined_nor_taken_over_by_its_address(
    house: Inside, entra: ScimClient
) -> None:
    local = await member(house, "local", "system:user:list")
    await query(house, "UPDATE sys.user SET email = 'l@example.org' WHERE id = %s", local.user_id)
    same = await entra.user("other", emails=[{"value": "l@example.org"}], externalId=str(local.user_id))
    assert same != str(local.user_id)
    for text in ('userName eq "local"', f'id eq "{local.user_id}"'):
        assert (await entra.data("GET", f"/Users?filter={quote(text)}"))["totalResults"] == 0
    for path in ("/.search", "/Users/.search"):
        found_ids = [each["id"] for each in (await entra.data("POST", path, {}))["Resources"]]
        assert found_ids == [same]
    member_of = {"schemas": [GROUP], "displayName": "Readers", "members": [{"value": str(local.user_id)}]}
    assert await entra.refused("POST", "/Groups", member_of) == (400, "invalidValue")
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        body = {"PUT": member_of, "PATCH": {"schemas": [PATCH], "Operations": [INACTIVE]}}.get(method)
        if method == "PUT":
            body = {"schemas": [USER], "userName": "mine", "active": False}
        assert await entra.refused(method, f"/Users/{local.user_id}", body) == (404, None)
    assert await local.held() == {"system:user:list"}


async def test_a_new_address_recovers_no_account_and_who_has_come_above_keeps_the_old_one(
    house: Inside, entra: ScimClient
) -> None:
    heron = await entra.user("heron", emails=[{"value": "heron@example.org"}])
    lord = await member(house, "lord", "system:user:list")
    await house.data("POST", f"/api/user/{heron}/roles", {"roleId": lord.role_id})
    taken = {"op": "replace", "path": "emails", "value": [{"value": "evil@example.org"}]}
    assert (await entra.refused("PATCH", f"/Users/{heron}", {"schemas": [PATCH], "Operations": [taken]}))[
        0
    ] == 403
    (stored,) = await query(house, "SELECT email, recovery_email FROM sys.user WHERE id = %s", int(heron))
    assert stored == ("heron@example.org", None)


async def test_a_ban_outlives_what_the_client_does(house: Inside, entra: ScimClient) -> None:
    heron = await entra.user("heron")
    await query(house, SAME_PASSWORD, int(heron))
    await house.data("POST", f"/api/online/{heron}/ban", {"seconds": 3600, "reason": "Stolen device"})
    await entra.patch(f"/Users/{heron}", INACTIVE)
    await entra.patch(f"/Users/{heron}", ACTIVE)
    await entra.data("DELETE", f"/Users/{heron}")
    assert await entra.user("heron") == heron
    (banned,) = await query(house, "SELECT count(*) FROM sys.user_ban WHERE user_id = %s", int(heron))
    assert banned == (1,)


async def test_who_was_deleted_comes_back_without_what_others_gave_above_the_ceiling(
    house: Inside, entra: ScimClient
) -> None:
    heron = await entra.user("heron")
    await entra.data("DELETE", f"/Users/{heron}")
    lord = await member(house, "lord", "system:user:list")
    await house.data("POST", f"/api/user/{heron}/roles", {"roleId": lord.role_id})
    for sent in ({}, {"active": True}, {"active": False}):
        body = {"schemas": [USER], "userName": "heron", **sent}
        assert await entra.refused("POST", "/Users", body) == (403, None)
    stored = await house.data("GET", f"/api/user/{heron}")
    assert (stored["status"], stored["email"]) == ("disabled", None)
    # Another directory does not get the account either.
    okta = await scim_client(house, "okta-feed", "okta")
    assert await okta.refused("POST", "/Users", {"schemas": [USER], "userName": "heron"}) == (
        409,
        "uniqueness",
    )


async def test_an_account_that_an_administrator_has_deleted_does_not_come_back(
    house: Inside, entra: ScimClient
) -> None:
    heron = await entra.user("heron")
    await house.data("DELETE", "/api/directory/entra")
    await house.data("DELETE", f"/api/user/{heron}")
    body = {"kind": "scim", "client": entra.name, "mapping": [], "ceiling": []}
    await house.data("PUT", "/api/directory/entra", body)
    assert await entra.refused("GET", f"/Users/{heron}") == (404, None)
    assert await entra.user("heron") != heron


async def test_a_member_keeps_nothing_by_own_means(house: Inside, entra: ScimClient) -> None:
    heron = await entra.user("heron")
    group = await entra.group("Readers", heron)
    await query(house, SAME_PASSWORD, int(heron))
    token = await house.log_in("heron")
    for body in ({"email": "evil@example.org"}, {"nickName": "Admin"}):
        answer = await house.ask("PUT", "/api/user/profile", body, token=token)
        assert (answer.status, answer.json.get("rule")) == (409, "directory"), answer.body
    for path in (f"/api/user/{heron}", f"/scim/v2/Users/{heron}", f"/scim/v2/Groups/{group}"):
        answer = await house.ask_raw("PATCH", path, b"{}", MERGE, token=token)
        assert answer.status == 403, answer.body
    (before,) = await query(house, "SELECT email, nick_name FROM sys.user WHERE id = %s", int(heron))
    assert before == (None, "heron")
    await entra.patch(f"/Groups/{group}", {"op": "remove", "path": "members"})
    assert (await house.ask("GET", "/api/file/list", token=token)).status in (401, 403)
    assert await roles_of(house, heron) == set()


BAD_FILTERS: Final = (
    *('userName eq "a\\u0000b"', 'displayName co "\\ud800"', 'id gt "\\udfff"', 'meta.created co "2"'),
    *('externalId sw "\\u0000"', "(" * 33 + "active pr" + ")" * 33, "not (" * 40 + "active pr" + ")" * 40),
    *(" or ".join(["active pr"] * 400), "userName eq " + '"' + "x" * 5000 + '"', 'emails[type eq "\\ud800"]'),
)


@with_each("text", BAD_FILTERS)
async def test_a_filter_that_is_too_much_or_no_text_is_refused(entra: ScimClient, text: str) -> None:
    assert await entra.refused("POST", "/Users/.search", {"filter": text}) == (400, "invalidFilter")


async def test_a_search_names_a_bounded_number_of_attributes(entra: ScimClient) -> None:
    assert await entra.refused("POST", "/.search", {"attributes": ["a"] * 101}) == (400, "invalidValue")
    assert await entra.refused("POST", "/.search", {"attributes": ["a" * 300]}) == (400, "invalidValue")
    wrong: tuple[object, ...] = (5, True, "x", {})
    for schemas in wrong:
        assert await entra.refused("POST", "/.search", {"schemas": schemas}) == (400, "invalidValue")


async def test_a_patch_has_a_bounded_number_of_operations_and_of_work(entra: ScimClient) -> None:
    ids = [await entra.user(f"bird-{number}") for number in range(3)]
    group = await entra.group("Readers", *ids)
    path = f"/Groups/{group}"

    def patch(operations: list[dict[str, Any]]) -> dict[str, Any]:
        return {"schemas": [PATCH], "Operations": operations}

    first = {"op": "add", "path": "members", "value": [{"value": ids[0]}]}
    assert await entra.refused("PATCH", path, patch([first] * 10_000)) == (400, "invalidValue")
    # A list that each of the following operations would look at again.
    many = {"op": "add", "path": "members", "value": [{"value": str(10**9 + each)} for each in range(20_000)]}
    look = {"op": "remove", "path": 'members[display sw "x"]'}
    busy = patch([many, *[look] * (MAX_OPERATIONS - 1)])
    assert await entra.refused("PATCH", path, busy) == (400, "tooMany")
    # What clients really send for a large group looks at it once.
    removals = [{"op": "remove", "path": f'members[value eq "{10**9 + each}"]'} for each in range(998)]
    kept = patch([many, *removals, {"op": "replace", "path": "members", "value": [{"value": ids[1]}]}])
    made = await entra.data("PATCH", path, kept)
    assert [each["value"] for each in made["members"]] == [ids[1]]


async def test_values_of_strange_forms_are_refused_and_never_a_fault_of_the_service(
    house: Inside, entra: ScimClient
) -> None:
    heron = await entra.user("heron")
    group = await entra.group("Readers", heron)
    deep: Any = []
    for _ in range(600):
        deep = [deep]
    strange: tuple[Any, ...] = (
        deep,
        10**30,
        {"value": {"a": 1}},
        [{"value": None}],
        [[{"value": heron}]],
        "x",
        [True],
        {},
        [{}],
    )
    paths = (
        *("members", "displayName", "name", "emails", "members.value", 'members[value eq "\\ud800"]'),
        *('emails[type eq "\\u0000"].value', "userName", "active", None),
    )
    for value in strange:
        for path in paths:
            operation = {"op": "add", "value": value} | ({} if path is None else {"path": path})
            body = {"schemas": [PATCH], "Operations": [operation]}
            for target in (f"/Users/{heron}", f"/Groups/{group}"):
                answer = await entra.ask("PATCH", target, body)
                assert answer.status < 500, (target, operation, answer.body)
    raw = ('{{"schemas": ["{}"], "userName": {}}}'.format(USER, "[" * 100_000)).encode()
    scim = ("Content-Type", "application/scim+json")
    answer = await house.ask_raw("POST", "/scim/v2/Users", raw, scim, token=entra.key)
    assert (answer.status, json.loads(answer.body)["status"]) == (400, "400")
