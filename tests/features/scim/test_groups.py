"""Groups by SCIM over HTTP: their members get the roles of the mapping, and lose them with the group."""

import pytest

from tests.features.scim.scim_client import GROUP, PATCH, ScimClient, roles_of, scim_client
from tests.support.inside import Inside
from tests.support.members import query


@pytest.fixture
async def entra(house: Inside) -> ScimClient:
    return await scim_client(house)


async def test_members_get_the_roles_of_their_groups_and_lose_them_with_these(
    house: Inside, entra: ScimClient
) -> None:
    heron, egret = await entra.user("heron"), await entra.user("egret")
    readers = await entra.group("Readers", heron)
    both = await entra.group("Both", heron, egret)
    await entra.group("Strangers", heron)
    assert await roles_of(house, heron) == await roles_of(house, egret) == {"reader", "lister"}

    await entra.patch(f"/Groups/{both}", {"op": "Remove", "path": "members", "value": [{"value": heron}]})
    assert await roles_of(house, heron) == {"reader"}
    await entra.patch(f"/Groups/{readers}", {"op": "replace", "value": {"displayName": "Former readers"}})
    assert await roles_of(house, heron) == set()
    await entra.data("DELETE", f"/Groups/{both}")
    assert await roles_of(house, egret) == set()


async def test_who_is_removed_as_the_group_shows_it_loses_its_roles(house: Inside, entra: ScimClient) -> None:
    heron, egret = await entra.user("heron"), await entra.user("egret")
    group = await entra.group("Readers", heron, egret)
    shown = next(
        each for each in (await entra.data("GET", f"/Groups/{group}"))["members"] if each["value"] == heron
    )
    assert {"value", "$ref", "display", "type"} == shown.keys()
    for removal in (
        {"path": "members", "value": [shown]},
        {"path": f'members[value eq "{heron}" and type eq "User"]'},
        {"path": 'members[display eq "Heron"]'},
        {"path": f'members[$ref eq "{shown["$ref"]}"]'},
    ):
        made = await entra.patch(f"/Groups/{group}", {"op": "remove", **removal})
        assert [each["value"] for each in made["members"]] == [egret], removal
        assert (await roles_of(house, heron), await roles_of(house, egret)) == (set(), {"reader"}), removal
        # Who has gone already is no fault: Entra removes members again.
        assert await entra.patch(f"/Groups/{group}", {"op": "remove", **removal}) == made
        await entra.patch(f"/Groups/{group}", {"op": "add", "path": "members", "value": [shown]})
        assert await roles_of(house, heron) == {"reader"}
    await entra.patch(f"/Groups/{group}", {"op": "remove", "path": 'members[type eq "User"]'})
    assert await roles_of(house, heron) == await roles_of(house, egret) == set()


async def test_members_are_sent_again_as_they_are_shown_and_nothing_is_written(entra: ScimClient) -> None:
    group = await entra.group("Readers", await entra.user("heron"), await entra.user("egret"))
    shown = await entra.data("GET", f"/Groups/{group}")
    assert await entra.data("PUT", f"/Groups/{group}", shown) == shown
    for op in ("add", "replace"):
        operation = {"op": op, "path": "members", "value": shown["members"]}
        assert await entra.patch(f"/Groups/{group}", operation) == shown
    # A group of the id of a member is no member.
    nested = {"op": "add", "path": "members", "value": [{**shown["members"][0], "type": "Group"}]}
    body = {"schemas": [PATCH], "Operations": [nested]}
    assert await entra.refused("PATCH", f"/Groups/{group}", body) == (400, "invalidValue")


async def test_null_that_is_added_takes_no_member_away(house: Inside, entra: ScimClient) -> None:
    heron = await entra.user("heron")
    group = await entra.group("Readers", heron)
    for operation in ({"path": "members", "value": None}, {"value": {"members": None}}):
        await entra.patch(f"/Groups/{group}", {"op": "add", **operation})
        assert await roles_of(house, heron) == {"reader"}


async def test_who_loses_a_group_loses_its_rights_with_the_next_request(
    house: Inside, entra: ScimClient
) -> None:
    heron = await entra.user("heron")
    await query(
        house,
        "UPDATE sys.user SET password_hash = (SELECT password_hash FROM sys.user WHERE id = 1) WHERE id = %s",
        int(heron),
    )
    group = await entra.group("Readers", heron)
    token = await house.log_in("heron")
    assert (await house.ask("GET", "/api/file/list", token=token)).status == 200
    await entra.data("PUT", f"/Groups/{group}", {"schemas": [GROUP], "displayName": "Readers", "members": []})
    assert (await house.ask("GET", "/api/file/list", token=token)).status in (401, 403)


async def test_groups_are_found_read_and_shown_at_their_members(entra: ScimClient) -> None:
    heron, egret = await entra.user("heron"), await entra.user("egret")
    readers = await entra.group("Readers", egret, heron)
    await entra.group("Both")
    shown = await entra.data("GET", f"/Groups/{readers}")
    assert [each["value"] for each in shown["members"]] == sorted((heron, egret), key=int)
    assert shown["members"][0]["$ref"].startswith("/scim/v2/Users/")
    (group,) = (await entra.data("GET", f"/Users/{heron}"))["groups"]
    assert (group["value"], group["display"]) == (readers, "Readers")

    for text in (
        'displayName eq "readers"',
        f'members eq "{heron}"',
        f'members[value eq "{egret}"]',
        "members pr",
    ):
        found_groups = await entra.data(
            "GET", f"/Groups?filter={text.replace(' ', '%20')}&excludedAttributes=members"
        )
        (listed,) = found_groups["Resources"]
        assert (listed["id"], "members" in listed) == (readers, False), text
    assert (await entra.data("GET", f'/Groups?filter=members%20ne%20"{heron}"'))["totalResults"] == 1
    assert await entra.refused("GET", '/Groups?filter=members.type%20eq%20"User"') == (400, "invalidFilter")


async def test_who_knows_the_tag_still_sees_the_groups_of_a_user_and_the_names_of_members(
    entra: ScimClient,
) -> None:
    heron = await entra.user("heron")
    known = ("If-None-Match", (await entra.ask("GET", f"/Users/{heron}")).header("etag") or "")
    group = await entra.group("Strangers", heron)
    read = await entra.ask("GET", f"/Users/{heron}", None, known)
    assert (read.status, read.header("etag")) == (200, known[1])
    assert [each["display"] for each in read.json["groups"]] == ["Strangers"]

    known = ("If-None-Match", (await entra.ask("GET", f"/Groups/{group}")).header("etag") or "")
    await entra.patch(f"/Users/{heron}", {"op": "replace", "path": "userName", "value": "grey-heron"})
    read = await entra.ask("GET", f"/Groups/{group}", None, known)
    assert (read.status, read.header("etag")) == (200, known[1])
    assert [each["display"] for each in read.json["members"]] == ["grey-heron"]


async def test_only_users_of_the_directory_are_members(house: Inside, entra: ScimClient) -> None:
    okta = await scim_client(house, "okta-feed", "okta")
    theirs, mine = await okta.user("plover"), await entra.user("heron")
    group = await entra.group("Readers")
    for stranger in (theirs, "1", str(entra.user_id), "x", "0", "9" * 30, f"0{mine}"):
        body = {"schemas": [GROUP], "displayName": "Readers", "members": [{"value": stranger}]}
        assert await entra.refused("PUT", f"/Groups/{group}", body) == (400, "invalidValue")
        operations = [{"op": "add", "path": "members", "value": [{"value": stranger}]}]
        patch = {"schemas": [PATCH], "Operations": operations}
        assert await entra.refused("PATCH", f"/Groups/{group}", patch) == (400, "invalidValue")
    nested = {"schemas": [GROUP], "displayName": "x", "members": [{"value": group, "type": "Group"}]}
    assert await entra.refused("POST", "/Groups", nested) == (400, "invalidValue")
    assert await okta.refused("GET", f"/Groups/{group}") == (404, None)
    assert await okta.refused("DELETE", f"/Groups/{group}") == (404, None)


async def test_a_directory_has_one_group_of_a_name_in_whatever_case(house: Inside, entra: ScimClient) -> None:
    await entra.group("Readers")
    other = await entra.group("Both")
    body = {"schemas": [GROUP], "displayName": "Readers"}
    for same in (body, body | {"displayName": "readers"}, body | {"displayName": "READERS"}):
        assert await entra.refused("POST", "/Groups", same) == (409, "uniqueness")
        assert await entra.refused("PUT", f"/Groups/{other}", same) == (409, "uniqueness")
    okta = await scim_client(house, "okta-feed", "okta")
    await okta.group("READERS")


async def test_the_case_of_the_name_of_a_group_is_kept_and_can_be_changed(
    house: Inside, entra: ScimClient
) -> None:
    heron = await entra.user("heron")
    group = await entra.group("Readers", heron)
    for name, roles in (("READERS", set()), ("Readers", {"reader"})):
        operation = {"op": "replace", "path": "displayName", "value": name}
        assert (await entra.patch(f"/Groups/{group}", operation))["displayName"] == name
        assert await roles_of(house, heron) == roles  # the mapping names groups exactly


async def test_a_name_that_is_not_in_the_form_in_which_names_are_compared_is_taken_too(
    entra: ScimClient,
) -> None:
    for name in ("Cafe\u0301", "\u0130zmir"):
        await entra.group(name)
        body = {"schemas": [GROUP], "displayName": name}
        assert await entra.refused("POST", "/Groups", body) == (409, "uniqueness")


async def test_a_refused_member_is_named(house: Inside, entra: ScimClient) -> None:
    heron = await entra.user("heron")
    strangers = [str(entra.user_id), "nobody-knows", *map(str, range(900, 912))]
    body = {"schemas": [GROUP], "displayName": "Readers"}

    def members(*ids: str) -> dict[str, object]:
        return body | {"members": [{"value": each} for each in (heron, *ids)]}

    single = await entra.ask("POST", "/Groups", members("nobody-knows"))
    many = await entra.ask("POST", "/Groups", members(*strangers))
    nested = await entra.ask("POST", "/Groups", body | {"members": [{"value": "41", "type": "Group"}]})

    assert single.json["detail"] == "members: These are no users of the directory: nobody-knows"
    assert many.json["detail"].endswith(" and 4 more")
    assert "900, 901" in many.json["detail"]
    assert nested.json["detail"] == "members: Only users are members of groups, and 41 is a Group"
    assert [each.status for each in (single, many, nested)] == [400] * 3
    assert (await house.data("GET", f"/api/user/{heron}"))["roles"] == []
