"""Users by SCIM over HTTP: what is created, read, edited and disabled, and what is refused."""

from typing import Any

import pytest

from tests.features.scim.scim_client import PATCH, USER, ScimClient, roles_of, scim_client
from tests.support.inside import Inside
from tests.support.members import member, query

HERON: dict[str, Any] = {
    "schemas": [USER],
    "userName": "heron@example.org",
    "externalId": "00u1",
    "name": {"formatted": "Grey Heron", "givenName": "Grey"},
    "emails": [
        {"value": "home@example.org", "type": "home"},
        {"value": "heron@example.org", "type": "work", "primary": True},
    ],
    "active": True,
}


@pytest.fixture
async def entra(house: Inside) -> ScimClient:
    return await scim_client(house)


async def test_a_user_is_created_read_and_known_to_administrators(house: Inside, entra: ScimClient) -> None:
    answer = await entra.ask("POST", "/Users", HERON)
    assert answer.status == 201, answer.body
    made = answer.json
    assert answer.header("location") == made["meta"]["location"] == f"/scim/v2/Users/{made['id']}"
    assert answer.header("etag") == made["meta"]["version"]
    assert made["emails"] == [{"value": "heron@example.org", "type": "work", "primary": True}]
    assert made["name"] == {"formatted": "Grey Heron"}
    assert "displayName" not in made

    assert await entra.data("GET", f"/Users/{made['id']}") == made
    stored = await house.data("GET", f"/api/user/{made['id']}")
    assert (stored["nickName"], stored["email"], stored["invited"]) == (
        "Grey Heron",
        "heron@example.org",
        True,
    )


async def test_the_shown_name_is_the_first_of_three(house: Inside, entra: ScimClient) -> None:
    for sent, nick_name in (
        ({"displayName": "D", "name": {"formatted": "F"}}, "D"),
        ({"displayName": "", "name": {"formatted": "F"}}, "F"),
        ({}, "u2"),
        ({"displayName": "long " * 40}, ("long " * 40)[:64].strip()),
    ):
        name = "u2" if not sent else f"u-{nick_name[:1]}-{len(nick_name)}"
        user_id = await entra.user(name, **sent)
        assert (await house.data("GET", f"/api/user/{user_id}"))["nickName"] == nick_name


async def test_language_and_time_zone_are_set_only_by_a_client_that_sends_them(
    house: Inside, entra: ScimClient
) -> None:
    user_id = await entra.user("polyglot", preferredLanguage="zh-cn, en;q=0.5", timezone="Asia/Shanghai")
    kept = {"preferredLanguage": "zh-CN", "timezone": "Asia/Shanghai"}
    plain = {"schemas": [USER], "userName": "polyglot"}

    async def shown() -> dict[str, Any]:
        user = await house.data("GET", f"/api/user/{user_id}")
        read = await entra.data("GET", f"/Users/{user_id}")
        assert (read.get("preferredLanguage"), read.get("timezone")) == (user["language"], user["timeZone"])
        return {name: read.get(name) for name in kept}

    assert await shown() == kept
    absent: dict[str, str] = {}
    for unknown in (absent, {"preferredLanguage": "tlh", "timezone": "Pacific Standard Time"}):
        await entra.data("PUT", f"/Users/{user_id}", {**plain, **unknown})
        assert await shown() == kept
    operations = [{"op": "remove", "path": "timezone"}]
    await entra.data("PATCH", f"/Users/{user_id}", {"schemas": [PATCH], "Operations": operations})
    assert await shown() == kept
    values = {"preferredLanguage": "en-GB", "timezone": "Europe/Berlin"}
    replaced = [{"op": "replace", "value": values}]
    await entra.data("PATCH", f"/Users/{user_id}", {"schemas": [PATCH], "Operations": replaced})
    assert await shown() == {"preferredLanguage": "en", "timezone": "Europe/Berlin"}
    listed = await entra.data("GET", '/Users?filter=preferredLanguage eq "EN" and timezone sw "europe/"')
    assert [each["id"] for each in listed["Resources"]] == [str(user_id)]


async def test_names_have_at_most_254_characters_and_are_none_of_the_logs(entra: ScimClient) -> None:
    await entra.user("h" * 242 + "@example.org")
    for faulty in ("h" * 255, "", " heron", "her\u202eon", "@operator"):
        body = {"schemas": [USER], "userName": faulty}
        assert await entra.refused("POST", "/Users", body) == (400, "invalidValue")


async def test_a_password_is_refused_and_not_repeated(entra: ScimClient) -> None:
    answer = await entra.ask("POST", "/Users", HERON | {"password": "a secret of mine"})
    assert (answer.status, answer.json["scimType"]) == (400, "invalidValue")
    assert b"a secret of mine" not in answer.body
    user_id = await entra.user("egret")
    operation = {"op": "replace", "path": "password", "value": "a secret of mine"}
    body = {"schemas": [PATCH], "Operations": [operation]}
    assert await entra.refused("PATCH", f"/Users/{user_id}", body) == (400, "invalidValue")


async def test_a_name_that_anybody_has_is_refused(entra: ScimClient) -> None:
    body = {"schemas": [USER], "userName": "ADMIN"}
    assert await entra.refused("POST", "/Users", body) == (409, "uniqueness")
    await entra.user("egret")
    assert await entra.refused("POST", "/Users", body | {"userName": "Egret"}) == (409, "uniqueness")
    assert (await entra.data("GET", '/Users?filter=userName%20eq%20"admin"'))["totalResults"] == 0


async def test_a_client_sees_and_changes_only_its_own_users(house: Inside, entra: ScimClient) -> None:
    okta = await scim_client(house, "okta-feed", "okta")
    user_id = await entra.user("heron")
    for target in (f"/Users/{user_id}", "/Users/1", f"/Users/{okta.user_id}", "/Users/x", "/Users/007"):
        assert await okta.refused("GET", target) == (404, None)
        assert await okta.refused("PUT", target, HERON) == (404, None)
        assert await okta.refused("DELETE", target) == (404, None)
    assert (await okta.data("GET", "/Users"))["totalResults"] == 0


async def test_who_is_disabled_has_no_session_and_keeps_the_rows(house: Inside, entra: ScimClient) -> None:
    user_id = await entra.user("heron")
    await query(
        house,
        "UPDATE sys.user SET password_hash = (SELECT password_hash FROM sys.user WHERE id = 1) WHERE id = %s",
        int(user_id),
    )
    await entra.group("Readers", user_id)
    token = await house.log_in("heron")
    assert (await house.ask("GET", "/api/file/list", token=token)).status == 200

    made = await entra.patch(f"/Users/{user_id}", {"op": "Replace", "path": "active", "value": "False"})
    assert made["active"] is False
    assert (await house.ask("GET", "/api/file/list", token=token)).status in (401, 403)
    assert await roles_of(house, user_id) == {"reader"}

    await entra.patch(f"/Users/{user_id}", {"op": "replace", "value": {"active": True}})
    assert (await house.data("GET", f"/api/user/{user_id}"))["status"] == "enabled"


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "active"},
        {"op": "replace", "path": "active", "value": None},
        {"op": "replace", "value": {"active": None}},
        {"op": "add", "value": {"displayName": "New"}},
    ],
)
async def test_an_edit_that_does_not_say_active_enables_and_disables_nobody(
    house: Inside, entra: ScimClient, operation: dict[str, Any]
) -> None:
    for active, status in ((False, "disabled"), (True, "enabled")):
        user_id = await entra.user(f"heron-{status}", active=active)
        made = await entra.patch(f"/Users/{user_id}", operation)
        assert made["active"] is active
        for body in ({}, {"active": None}, {"displayName": "Other"}):
            sent = {"schemas": [USER], "userName": f"heron-{status}", **body}
            made = await entra.data("PUT", f"/Users/{user_id}", sent)
            assert (made["active"], made.get("displayName")) == (active, body.get("displayName"))
        assert (await house.data("GET", f"/api/user/{user_id}"))["status"] == status


async def test_a_deleted_user_is_hidden_and_comes_back_under_the_same_id(
    house: Inside, entra: ScimClient
) -> None:
    user_id = await entra.user("heron")
    await entra.group("Readers", user_id)
    await entra.data("DELETE", f"/Users/{user_id}")
    assert await entra.refused("GET", f"/Users/{user_id}") == (404, None)
    stored = await house.data("GET", f"/api/user/{user_id}")
    assert (stored["status"], stored["roles"]) == ("disabled", [])

    assert await entra.user("heron", displayName="Back") == user_id
    stored = await house.data("GET", f"/api/user/{user_id}")
    assert (stored["status"], stored["nickName"], stored["roles"]) == ("enabled", "Back", [])


async def test_what_is_managed_is_edited_nowhere_else(house: Inside, entra: ScimClient) -> None:
    user_id = await entra.user("heron")
    answer = await house.ask("PATCH", f"/api/user/{user_id}", {"nickName": "Mine"})
    assert answer.status in (409, 415)
    merge = ("Content-Type", "application/merge-patch+json")
    answer = await house.ask_raw("PATCH", f"/api/user/{user_id}", b'{"nickName": "Mine"}', merge)
    assert (answer.status, answer.json["rule"], answer.json["directory"]) == (409, "directory", "entra")
    answer = await house.ask("DELETE", f"/api/user/{user_id}")
    assert (answer.status, answer.json["directory"]) == (409, "entra")


async def test_tags_protect_against_lost_updates(entra: ScimClient) -> None:
    user_id = await entra.user("heron")
    read = await entra.ask("GET", f"/Users/{user_id}")
    tag = read.header("etag")
    assert tag is not None
    await entra.patch(f"/Users/{user_id}", {"op": "replace", "path": "displayName", "value": "New"})
    stale = await entra.ask("PUT", f"/Users/{user_id}", HERON, ("If-Match", tag))
    assert (stale.status, stale.json["status"]) == (412, "412")


async def test_pages_begin_at_1_and_tell_how_many_there_are(entra: ScimClient) -> None:
    ids = [await entra.user(f"bird-{number}") for number in range(5)]
    first = await entra.data("GET", "/Users?startIndex=1&count=2")
    assert [each["id"] for each in first["Resources"]] == ids[:2]
    assert (first["totalResults"], first["startIndex"], first["itemsPerPage"]) == (5, 1, 2)
    last = await entra.data("GET", "/Users?startIndex=5&count=2")
    assert [each["id"] for each in last["Resources"]] == ids[4:]
    none = await entra.data("GET", "/Users?startIndex=-3&count=0")
    assert (none["Resources"], none["totalResults"], none["startIndex"]) == ([], 5, 1)
    shown = await entra.data("GET", "/Users?attributes=userName&count=1")
    assert shown["Resources"] == [{"schemas": [USER], "id": ids[0], "userName": "bird-0"}]
    assert await entra.refused("GET", "/Users?count=many") == (400, "invalidValue")


FILTERS = (
    'userName eq "HERON@example.org"',
    'externalId eq "00u1"',
    'externalId eq "00U1"',
    'emails[type eq "work" and value co "EXAMPLE"]',
    'emails.value ew ".org" and active eq true',
    'not (displayName pr) or id eq "0"',
    'displayName ne "Egret"',
    "displayName eq null",
    'displayName gt "a" and displayName lt "z"',
    'meta.created gt "2020-01-01T00:00:00Z"',
    'meta.lastModified lt "2020-01-01T00:00:00Z"',
    "emails pr",
    'not (emails co "example")',
    'name.formatted sw "grey_" or name.formatted sw "grey "',
    'userName co "%"',
)


async def test_the_database_finds_what_the_filter_matches(entra: ScimClient) -> None:
    from service.features.scim.attributes import USER as SCHEMA  # noqa: PLC0415 - beside what it is compared with
    from service.features.scim.filters import matches, parse_filter  # noqa: PLC0415

    await entra.data("POST", "/Users", HERON)
    await entra.user("egret", displayName="Egret")
    await entra.user("plover", active=False, emails=[{"value": "p@example.com"}])
    everybody = (await entra.data("GET", "/Users"))["Resources"]
    for text in FILTERS:
        quoted = text.replace("%", "%25").replace(" ", "%20").replace("+", "%2B")
        listed = (await entra.data("GET", f"/Users?filter={quoted}"))["Resources"]
        term = parse_filter(text, SCHEMA)
        assert listed == [each for each in everybody if matches(term, each)], text
    for faulty in ('shoeSize eq "44"', 'groups.type eq "x"', "userName eq"):
        assert await entra.refused("GET", f"/Users?filter={faulty.replace(' ', '%20')}") == (
            400,
            "invalidFilter",
        )


async def test_what_is_malformed_is_refused_in_the_form_of_scim(house: Inside, entra: ScimClient) -> None:
    assert await entra.refused("POST", "/Users", [1]) == (400, "invalidSyntax")
    assert await entra.refused("POST", "/Users", {"schemas": ["urn:x"], "userName": "x"}) == (
        400,
        "invalidValue",
    )
    assert await entra.refused("POST", "/Users", {"schemas": [USER]}) == (400, "invalidValue")
    assert await entra.refused("POST", "/Users", HERON | {"externalId": "a\x00b"}) == (400, "invalidValue")
    assert await entra.refused("POST", "/Bulk", {}) == (404, None)
    assert (await house.ask_raw("POST", "/scim/v2/Users", b"{", ("Content-Type", "text/plain"))).status in (
        403,
        415,
    )
    unknown = await house.as_anonymous("GET", "/scim/v2/Users")
    assert (unknown.status, unknown.header("www-authenticate")) == (401, "Bearer")
    assert unknown.json["status"] == "401"


async def test_who_is_no_client_of_a_directory_gets_nothing(house: Inside, entra: ScimClient) -> None:
    person = await member(house, "warden", "system:scim:users", "system:scim:read")
    answer = await person.ask("GET", "/scim/v2/Users")
    assert answer.status == 409
    assert (await person.ask("GET", "/scim/v2/Groups")).status == 409
    assert (await person.ask("POST", "/scim/v2/Groups", {"displayName": "x"})).status == 403
    stored = await house.data("GET", "/api/directory/entra")
    body = {name: stored[name] for name in ("kind", "client", "mapping", "ceiling")}
    await house.data("PUT", "/api/directory/entra", body | {"enabled": False})
    assert await entra.refused("GET", "/Users") == (409, None)
    assert await entra.refused("POST", "/Users", HERON) == (409, None)


async def test_what_the_service_can_do_is_told(entra: ScimClient) -> None:
    config = await entra.data("GET", "/ServiceProviderConfig")
    assert (config["patch"], config["bulk"]["supported"], config["etag"]) == (
        {"supported": True},
        False,
        {"supported": True},
    )
    schemas = await entra.data("GET", "/Schemas")
    assert [each["id"] for each in schemas["Resources"]] == [USER, USER.replace("User", "Group")]
    assert await entra.data("GET", f"/Schemas/{USER}") == schemas["Resources"][0]
    types = await entra.data("GET", "/ResourceTypes")
    assert [each["endpoint"] for each in types["Resources"]] == ["/Users", "/Groups"]
    assert await entra.refused("GET", "/ResourceTypes/Device") == (404, None)
