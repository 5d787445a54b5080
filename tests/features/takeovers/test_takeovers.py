"""Whoever could get to act as the owner of an account is noted with the act, and nobody else is."""

from typing import Any

import pytest

from tests.features.scim.scim_client import scim_client
from tests.support.inside import Inside
from tests.support.members import Member, member, query
from tests.support.standing_behind import acted, edges
from tests.support.without import is_served

EGRET: dict[str, Any] = {"userName": "egret", "nickName": "Egret", "password": "long enough 4711"}
GUEST: dict[str, Any] = {"userName": "guest", "nickName": "Guest", "invite": True}
PROGRAM: dict[str, Any] = {"userName": "program", "nickName": "Program", "kind": "service"}
NEW = {"newPassword": "quite long 4711"}


async def send(who: Member, method: str, target: str, body: Any = None) -> Any:
    """Send a request that must succeed; return what it answers."""
    answer = await who.ask(method, target, body)
    assert answer.status in (200, 201, 202, 204), answer.body
    return answer.json["data"] if answer.body else None


@pytest.fixture
async def mira(house: Inside) -> Member:
    """Somebody who may do everything."""
    return await member(house, "mira", "*")


@pytest.mark.parametrize(
    ("request_line", "body", "act"),
    [
        ("PUT /password", NEW, "password"),
        ("PATCH ", {"email": "noah@example.com"}, "address"),
        ("PATCH ", {"phone": "+49301234567"}, "address"),
        ("DELETE /factors", None, "factor"),
    ],
)
async def test_an_act_by_which_somebody_could_act_as_another_is_noted(
    house: Inside, mira: Member, request_line: str, body: Any, act: str
) -> None:
    noah = await member(house, "noah")
    method, path = request_line.split(" ")

    await send(mira, method, f"/api/user/{noah.user_id}{path}", body)

    assert await edges(house) == {("mira", "noah", act)}


async def test_the_maker_of_an_account_with_a_way_in_is_noted(house: Inside, mira: Member) -> None:
    await send(mira, "POST", "/api/user", EGRET)
    await send(mira, "POST", "/api/user", PROGRAM)
    rows = [{**EGRET, "userName": "stork"}, {"userName": "later", "nickName": "Later"}]
    made = {"egret", "program"}
    if is_served("POST /api/user/import"):
        await send(mira, "POST", "/api/user/import", {"users": rows})
        made.add("stork")

    assert await edges(house) == {("mira", name, "made") for name in made}


async def test_a_link_that_is_seen_is_the_first_way_in_for_its_maker_and_a_takeover_by_others(
    house: Inside, mira: Member
) -> None:
    other = await member(house, "other", "*")
    guest = (await send(mira, "POST", "/api/user", GUEST))["id"]
    assert await edges(house) == set()

    await send(mira, "POST", f"/api/user/{guest}/invitation")
    await send(other, "POST", f"/api/user/{guest}/invitation")

    assert await edges(house) == {("mira", "guest", "made"), ("other", "guest", "link")}


async def test_an_api_key_is_noted_and_acts_by_it_are_of_its_account_and_of_its_maker(
    house: Inside, mira: Member
) -> None:
    noah = await member(house, "noah")
    user_id = (await house.data("POST", "/api/user", PROGRAM | {"roleIds": [1]}))["id"]
    key = (await send(mira, "POST", f"/api/user/{user_id}/keys", {"name": "job"}))["key"]
    program = Member(house, user_id, 0, "program", key)

    await send(program, "PUT", f"/api/user/{noah.user_id}/password", NEW)
    await send(program, "POST", "/api/user", EGRET)

    assert await edges(house) == {
        ("admin", "program", "made"),
        ("mira", "program", "key"),
        *((holder, "noah", "password") for holder in ("mira", "program")),
        *((holder, "egret", "made") for holder in ("mira", "program")),
    }


async def test_what_lets_nobody_act_as_another_is_not_noted(house: Inside, mira: Member) -> None:
    noah = await member(house, "noah")
    path = f"/api/user/{noah.user_id}"

    await send(mira, "PATCH", path, {"nickName": "Ibis"})
    await send(mira, "PUT", f"{path}/status", {"status": "disabled"})
    await send(mira, "PUT", f"{path}/status", {"status": "enabled"})
    await send(mira, "GET", f"{path}/factors")
    await send(mira, "PATCH", f"{path}?dryRun=true", {"email": "noah@example.com"})
    refused = [
        await mira.ask("PATCH", path, {"email": "noah@example.com", "roleIds": [0]}),
        await mira.ask("PUT", f"{path}/password", {"newPassword": "short"}),
    ]
    await noah.log_in()
    await send(noah, "PUT", "/api/user/profile", {"nickName": "Noah", "phone": "+49301234567"})

    assert [answer.status for answer in refused] == [422, 422]
    assert await edges(house) == set()


@pytest.mark.feature("scim")
async def test_a_directory_stands_behind_nobody(house: Inside) -> None:
    entra = await scim_client(house)
    await query(house, "DELETE FROM sys.account_control")

    user_id = await entra.user("heron@example.org", emails=[{"value": "heron@example.org", "primary": True}])
    changed = {"op": "replace", "path": "emails[primary eq true].value", "value": "x@example.org"}
    await entra.patch(f"/Users/{user_id}", changed)

    assert await edges(house) == set()


async def test_a_deleted_account_hides_nobody_behind_it(house: Inside, mira: Member) -> None:
    child, grandchild = await member(house, "child"), await member(house, "grandchild")
    await acted(house, mira.user_id, child.user_id)
    await acted(house, child.user_id, grandchild.user_id)

    await house.data("DELETE", f"/api/user/{child.user_id}")

    stored = await query(house, "SELECT holder_id, account_id FROM sys.account_control")
    assert {*stored} == {(mira.user_id, child.user_id), (child.user_id, grandchild.user_id)}


async def test_the_owner_is_confirmed_by_somebody_behind_whom_neither_stands(
    house: Inside, mira: Member
) -> None:
    noah, judge = await member(house, "noah"), await member(house, "judge", "system:user:verify")
    path = f"/api/user/{noah.user_id}/takeovers"
    confirming = f"/api/user/{noah.user_id}/owner/verification"
    await acted(house, mira.user_id, noah.user_id, "password", 3)
    await acted(house, mira.user_id, noah.user_id, "address", 31)
    (listed,) = (await send(judge, "GET", path))["takeovers"]
    assert (listed["userName"], listed["act"]) == ("mira", "password")

    by_herself = await mira.ask("POST", confirming)
    own = await noah.ask("POST", confirming)
    await acted(house, mira.user_id, judge.user_id, "key")
    by_a_puppet = await judge.ask("POST", confirming)
    await query(house, "DELETE FROM sys.account_control WHERE account_id = %s", judge.user_id)
    await acted(house, noah.user_id, judge.user_id)
    by_the_other_way = await judge.ask("POST", confirming)
    await query(house, "DELETE FROM sys.account_control WHERE account_id = %s", judge.user_id)

    refused = [by_herself, by_a_puppet, by_the_other_way]
    assert [(each.status, each.json["layer"], each.json["required"]) for each in refused] == [
        (403, "account", [])
    ] * 3
    assert own.status == 403
    assert (await send(judge, "POST", confirming)) == {"takeovers": []}
    assert await edges(house) == set()


async def test_a_confirmation_leaves_what_those_did_who_stand_behind_its_giver(
    house: Inside, mira: Member
) -> None:
    noah, judge = await member(house, "noah"), await member(house, "judge", "system:user:verify")
    other = await member(house, "other")
    for holder in (mira, other):
        await acted(house, holder.user_id, noah.user_id)
    await acted(house, mira.user_id, judge.user_id, "made")

    left = await send(judge, "POST", f"/api/user/{noah.user_id}/owner/verification")

    assert [each["userName"] for each in left["takeovers"]] == ["mira"]
