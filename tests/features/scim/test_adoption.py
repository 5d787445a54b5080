"""Accounts that are here become those of a directory; what it manages has no password by other ways."""

from typing import Any

import pytest

from tests.features.scim.scim_client import CEILING, ScimClient, roles_of, scim_client
from tests.support.inside import Inside
from tests.support.members import Member, member, query

ACCOUNTS = "/api/directory/entra/accounts"
HERON: dict[str, Any] = {"userName": "heron", "nickName": "Heron", "email": "heron@example.org"}


@pytest.fixture
async def entra(house: Inside) -> ScimClient:
    return await scim_client(house)


async def local(house: Inside, **changes: Any) -> str:
    """Make an account of a person here, and return its id."""
    made = await house.data("POST", "/api/user", {**HERON, "password": "four wary herons", **changes})
    return str(made["id"])


async def adopt(by: Inside | Member, user_name: str = "heron") -> tuple[int, str]:
    answer = await by.ask("POST", ACCOUNTS, {"userName": user_name})
    return answer.status, answer.json.get("rule", "") if answer.body else ""


async def test_a_local_account_is_adopted_and_then_the_client_has_it(
    house: Inside, entra: ScimClient
) -> None:
    user_id = await local(house)
    body = {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "heron"}
    assert await entra.refused("POST", "/Users", body) == (409, "uniqueness")

    assert await adopt(house) == (204, "")

    seen = await entra.data("GET", '/Users?filter=userName%20eq%20"heron"')
    assert [each["id"] for each in seen["Resources"]] == [user_id]
    await entra.group("Readers", user_id)
    assert await roles_of(house, user_id) == {"reader"}
    assert (await house.data("GET", f"/api/user/{user_id}"))["directory"] == "entra"
    assert await adopt(house) == (409, "directory")


async def test_accounts_of_a_directory_that_was_made_anew_are_adopted(
    house: Inside, entra: ScimClient
) -> None:
    user_id = await entra.user("heron")
    await house.data("DELETE", "/api/directory/entra")
    values = {"kind": "scim", "client": entra.name, "mapping": [], "ceiling": list(CEILING)}
    await house.data("PUT", "/api/directory/entra", values)
    assert (await entra.data("GET", "/Users"))["totalResults"] == 0

    assert await adopt(house) == (204, "")

    assert (await entra.data("GET", f"/Users/{user_id}"))["userName"] == "heron"
    made = await entra.patch(f"/Users/{user_id}", {"op": "replace", "path": "active", "value": False})
    assert made["active"] is False


async def test_nobody_is_adopted_who_holds_more_than_the_ceiling(house: Inside, entra: ScimClient) -> None:
    above = await member(house, "above", "system:user:list")
    answer = await house.ask("POST", ACCOUNTS, {"userName": "above"})

    assert (answer.status, answer.json["rule"], answer.json["required"]) == (
        409,
        "directory",
        ["system:user:list"],
    )
    oneself = await house.ask("POST", ACCOUNTS, {"userName": "admin"})
    assert (oneself.status, oneself.json["layer"]) == (409, "account")
    assert (await entra.data("GET", "/Users"))["totalResults"] == 0
    assert (await above.log_in()).token


async def test_who_adopts_needs_the_permission_and_what_the_account_holds(
    house: Inside, entra: ScimClient
) -> None:
    reset = "system:user:reset-password"
    await member(house, "heron", CEILING[0])
    less, able = await member(house, "less", reset), await member(house, "able", reset, CEILING[0])

    none = await member(house, "none", CEILING[0])
    denied = [(await by.ask("POST", ACCOUNTS, {"userName": "heron"})).json["layer"] for by in (less, none)]

    assert denied == ["grant", "endpoint"]
    assert await adopt(able) == (204, "")
    assert (await entra.data("GET", "/Users"))["totalResults"] == 1


async def test_what_can_not_be_adopted_is_refused(house: Inside, entra: ScimClient) -> None:
    await local(house)
    assert (await house.ask("POST", "/api/directory/nowhere/accounts", {"userName": "heron"})).status == 404
    assert await adopt(house, "nobody") == (404, "")
    assert await adopt(house, entra.name) == (409, "kind_of_account")
    values = {"kind": "scim", "client": entra.name, "mapping": [], "ceiling": [], "enabled": False}
    await house.data("PUT", "/api/directory/entra", values)
    assert await adopt(house) == (409, "directory")


@pytest.mark.usefixtures("entra")
async def test_a_managed_account_takes_no_password_invitation_or_address_by_other_ways(
    house: Inside,
) -> None:
    user_id = await local(house)
    invited = (await house.data("POST", "/api/user", {**HERON, "userName": "egret", "invite": True}))["id"]
    link = await house.data("POST", f"/api/user/{invited}/invitation")
    for name in ("heron", "egret"):
        assert await adopt(house, name) == (204, "")

    refused = [
        await house.ask(method, f"/api/user/{number}{path}", body)
        for method, number, path, body in (
            ("PUT", user_id, "/password", {"newPassword": "six stubborn otters"}),
            ("POST", user_id, "/password-reset", None),
            ("POST", invited, "/invitation", None),
            ("PATCH", user_id, "", {"email": "thief@example.org"}),
        )
    ]
    token = link["url"].rpartition("?token=")[2]
    spent = await house.as_anonymous(
        "POST", "/api/auth/invitation", body={"token": token, "password": "six stubborn otters"}
    )

    assert [(answer.status, answer.json["rule"]) for answer in refused] == [(409, "directory")] * 4
    assert (spent.status, spent.code) == (403, "link_invalid")
    hashes = await query(house, "SELECT password_hash FROM sys.user WHERE id = %s", int(invited))
    assert hashes == [(None,)]
