"""What Entra and Okta send ends in the right state; sent again, it changes nothing."""

import logging
from typing import Any
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

from tests.features.scim.scim_client import GROUP, PATCH, USER, ScimClient, roles_of, scim_client
from tests.support.inside import Inside
from tests.support.members import query

ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
STATE = (
    "SELECT id, user_name, nick_name, email, status, version, update_time FROM sys.user ORDER BY id",
    "SELECT user_id, role_id, source, version FROM sys.user_role ORDER BY 1, 2",
    "SELECT * FROM sys.scim_user ORDER BY 1",
    "SELECT * FROM sys.scim_group ORDER BY 1",
    "SELECT * FROM sys.scim_member ORDER BY 1, 2",
)


async def state(house: Inside) -> list[Any]:
    return [await query(house, statement) for statement in STATE]


async def _known(client: ScimClient, kind: str, filter_: str) -> str | None:
    page = await client.data("GET", f"/{kind}?filter={quote(filter_)}")
    return page["Resources"][0]["id"] if page["totalResults"] else None


class Entra:
    """Sends what the provisioning of Entra sends for two people and a group."""

    people = ("heron@example.org", "egret@example.org")

    async def run(self, client: ScimClient) -> None:
        await client.data("GET", '/Users?filter=userName%20eq%20"a-probe-that-nobody-has"')
        ids = [await self._person(client, name) for name in self.people]
        await self._group(client, ids)

    async def _person(self, client: ScimClient, name: str) -> str:
        user_id = await _known(client, "Users", f'userName eq "{name}"')
        if user_id is None:
            made = await client.data(
                "POST",
                "/Users",
                {
                    "schemas": [USER, ENTERPRISE],
                    "externalId": name.partition("@")[0],
                    "userName": name,
                    "active": True,
                    "displayName": name.partition("@")[0].title(),
                    "meta": {"resourceType": "User"},
                    "name": {"formatted": name, "familyName": "F", "givenName": "G"},
                    ENTERPRISE: {"department": "Ponds"},
                },
            )
            user_id = str(made["id"])
        await client.patch(
            f"/Users/{user_id}",
            {"op": "Add", "path": 'emails[type eq "work"].value', "value": name},
            {"op": "Replace", "path": "displayName", "value": [{"$ref": None, "value": name[:5].title()}]},
            {"op": "Add", "path": f"{ENTERPRISE}:department", "value": "Lakes"},
            {"op": "Replace", "path": f"{USER}:externalId", "value": name},
        )
        return user_id

    async def _group(self, client: ScimClient, ids: list[str]) -> None:
        text = quote('displayName eq "Readers"')
        page = await client.data("GET", f"/Groups?excludedAttributes=members&filter={text}")
        if page["totalResults"]:
            group_id = page["Resources"][0]["id"]
        else:
            made = await client.data("POST", "/Groups", {"schemas": [GROUP], "displayName": "Readers"})
            group_id = made["id"]
        for user_id in ids:
            value = [{"$ref": None, "value": user_id}]
            await client.patch(f"/Groups/{group_id}", {"op": "Add", "path": "members", "value": value})


class Okta:
    """Sends what the provisioning of Okta sends for two people and a pushed group."""

    people = ("heron@example.org", "egret@example.org")

    async def run(self, client: ScimClient) -> None:
        await client.data("GET", "/Users?startIndex=1&count=2")
        await client.data("GET", "/Groups?startIndex=1&count=2")
        ids = [await self._person(client, name) for name in self.people]
        group_id = await _known(client, "Groups", 'displayName eq "Readers"')
        if group_id is None:
            body = {"schemas": [GROUP], "displayName": "Readers", "members": []}
            group_id = (await client.data("POST", "/Groups", body))["id"]
        members = [{"value": each, "display": "x"} for each in ids]
        await client.patch(
            f"/Groups/{group_id}",
            {"op": "replace", "value": {"id": group_id, "displayName": "Readers"}},
            {"op": "replace", "path": "members", "value": members},
        )

    async def _person(self, client: ScimClient, name: str) -> str:
        body = {
            "schemas": [USER],
            "userName": name,
            "name": {"givenName": "G", "familyName": "F"},
            "emails": [{"primary": True, "value": name, "type": "work"}],
            "displayName": name[:5].title(),
            "locale": "en-US",
            "externalId": name,
            "groups": [],
            "active": True,
        }
        user_id = await _known(client, "Users", f'userName eq "{name}"')
        if user_id is None:
            return str((await client.data("POST", "/Users", body))["id"])
        shown = await client.data("GET", f"/Users/{user_id}")
        await client.data("PUT", f"/Users/{user_id}", shown | body)
        return user_id


@pytest.mark.parametrize("sender", [Entra(), Okta()])
async def test_a_run_ends_in_the_right_state_and_a_second_changes_nothing(
    house: Inside, sender: Entra | Okta
) -> None:
    client = await scim_client(house)
    await sender.run(client)
    for name in sender.people:
        user_id = await _known(client, "Users", f'userName eq "{name}"')
        assert user_id is not None
        stored = await house.data("GET", f"/api/user/{user_id}")
        assert (stored["email"], stored["nickName"], stored["status"]) == (name, name[:5].title(), "enabled")
        assert await roles_of(house, user_id) == {"reader"}
        assert (await client.data("GET", f"/Users/{user_id}"))["externalId"] == name

    before = await state(house)
    await sender.run(client)
    assert await state(house) == before


async def test_both_take_people_away_and_bring_them_back(house: Inside) -> None:
    client = await scim_client(house)
    await Entra().run(client)
    heron, egret = [str(await _known(client, "Users", f'userName eq "{name}"')) for name in Entra.people]
    group = await _known(client, "Groups", 'displayName eq "Readers"')

    await client.patch(f"/Users/{heron}", {"op": "Replace", "path": "active", "value": "False"})
    await client.patch(f"/Groups/{group}", {"op": "Remove", "path": "members", "value": [{"value": heron}]})
    shown = await client.data("GET", f"/Users/{egret}")
    await client.data("PUT", f"/Users/{egret}", shown | {"active": False})
    for user_id, roles in ((heron, set()), (egret, {"reader"})):
        assert (await house.data("GET", f"/api/user/{user_id}"))["status"] == "disabled"
        assert await roles_of(house, user_id) == roles
    await client.data("DELETE", f"/Users/{heron}")

    await Entra().run(client)
    await client.data("PUT", f"/Users/{egret}", shown | {"active": True})
    for user_id in (heron, egret):
        assert (await house.data("GET", f"/api/user/{user_id}"))["status"] == "enabled"
        assert await roles_of(house, user_id) == {"reader"}


async def test_what_deviates_is_logged_as_such(house: Inside) -> None:
    client = await scim_client(house)
    user_id = await client.user("heron")
    logging.disable(logging.NOTSET)
    with capture_logs() as entries:
        await client.patch(f"/Users/{user_id}", {"op": "Replace", "path": "active", "value": "False"})
    (noted,) = [entry["deviations"] for entry in entries if "deviations" in entry]
    assert noted == ["op in capital letters", "boolean as text"]
    body = {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "active", "value": True}]}
    with capture_logs() as entries:
        await client.data("PATCH", f"/Users/{user_id}", body)
    assert not [entry for entry in entries if "deviations" in entry]


@pytest.mark.parametrize("by", ["PUT without members", "PUT with null", "remove with null"])
async def test_members_that_go_though_none_was_named_are_logged_as_a_deviation(
    house: Inside, by: str
) -> None:
    client = await scim_client(house)
    heron = await client.user("heron")
    group = await client.group("Readers", heron)
    body = {"schemas": [GROUP], "displayName": "Readers"}

    async def clear() -> None:
        if by == "remove with null":
            await client.patch(f"/Groups/{group}", {"op": "remove", "path": "members", "value": None})
        else:
            await client.data("PUT", f"/Groups/{group}", body | ({"members": None} if "null" in by else {}))

    logging.disable(logging.NOTSET)
    with capture_logs() as entries:
        await clear()

    (noted,) = [entry["deviations"] for entry in entries if "deviations" in entry]
    expected = (
        "remove with null, which removes all that the path chooses"
        if by == "remove with null"
        else "replacement without members, which are removed"
    )
    assert noted == [expected]
    assert await roles_of(house, heron) == set()
