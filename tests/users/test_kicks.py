"""Kicking in a loop keeps a user out as a ban does: the same guards hold."""

from __future__ import annotations

import pytest

from tests.support.inside import Inside
from tests.users.people import PASSWORD, caller, execute, made, role_id

pytestmark = pytest.mark.anyio

KICKS = ("/api/online/{}", "/api/online/{}/desk")


async def on_desk(house: Inside, name: str) -> str:
    body = {"userName": name, "password": PASSWORD, "device": "desk"}
    answer = await house.ask("POST", "/api/auth/login", body)
    return str(answer.json["data"]["accessToken"])


async def works(house: Inside, token: str) -> bool:
    return (await house.ask("GET", "/api/user/info", token=token)).status == 200


@pytest.mark.parametrize("path", KICKS)
async def test_nobody_kicks_somebody_who_holds_more(house: Inside, path: str) -> None:
    heron = await made(house, "heron", role_id(house, "super"))
    token = await caller(house, "stork", "system:online:kick")
    hers = await on_desk(house, "heron")

    answer = await house.ask("DELETE", path.format(heron["id"]), token=token)

    assert (answer.status, answer.code, answer.json["required"]) == (403, "permission_denied", ["*"])
    assert await works(house, hers)


@pytest.mark.parametrize("path", KICKS)
async def test_somebody_who_holds_no_more_is_kicked(house: Inside, path: str) -> None:
    heron = await made(house, "heron", role_id(house, "user"))
    token = await caller(house, "stork", "system:*")
    hers = await on_desk(house, "heron")

    answer = await house.ask("DELETE", path.format(heron["id"]), token=token)

    assert answer.status == 200
    assert not await works(house, hers)


async def test_callers_kick_themselves_whatever_they_hold(house: Inside) -> None:
    token = await caller(house, "stork", "system:online:kick")
    me = (await house.ask("GET", "/api/user/info", token=token)).json["data"]["userId"]
    # What the token does not hold would forbid the same act on somebody else.
    execute(house, "INSERT INTO sys.user_role VALUES (%s, %s)", me, role_id(house, "auditor"))

    answer = await house.ask("DELETE", f"/api/online/{me}", token=token)

    assert (answer.status, answer.json["data"]) == (200, {"ended": 1})
    assert not await works(house, token)


async def test_the_session_of_a_user_who_is_gone_can_be_ended(house: Inside) -> None:
    heron = await made(house, "heron")
    await on_desk(house, "heron")
    execute(house, "DELETE FROM sys.user WHERE id = %s", heron["id"])

    assert (await house.ask("DELETE", f"/api/online/{heron['id']}")).json["data"] == {"ended": 1}


@pytest.mark.parametrize("login_id", ["0", "-1", "9" * 19, "9" * 30])
async def test_an_id_that_no_user_can_have_is_not_found(house: Inside, login_id: str) -> None:
    for method, below in (("DELETE", ""), ("DELETE", "/desk"), ("POST", "/ban")):
        answer = await house.ask(method, f"/api/online/{login_id}{below}", {} if below == "/ban" else None)
        assert answer.status in (404, 422)
