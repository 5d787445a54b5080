"""A ban, and kicking in a loop, are as good as disabling an account: the same guards hold."""

import asyncio

import pytest
import redis

from tests.support.inside import Inside
from tests.users.people import PASSWORD, caller, execute, made, role_id

BAN = "/api/online/{}/ban"


async def test_nobody_bans_or_unbans_somebody_who_holds_more(house: Inside) -> None:
    heron = await made(house, "heron", role_id(house, "super"))
    token = await caller(house, "stork", "system:online:ban", "system:*")

    for method, body in (("POST", {}), ("DELETE", None)):
        answer = await house.ask(method, BAN.format(heron["id"]), body, token=token)
        assert (answer.code, answer.json["required"]) == ("permission_denied", ["*"])
    assert await house.log_in("heron", PASSWORD)


async def test_somebody_who_holds_no_more_is_banned_and_unbanned(house: Inside) -> None:
    heron = await made(house, "heron", role_id(house, "user"))
    token = await caller(house, "stork", "system:*")
    hers = await house.log_in("heron", PASSWORD)

    banned = await house.ask("POST", BAN.format(heron["id"]), {}, token=token)
    refused = await house.ask("GET", "/api/user/info", token=hers)
    cleared = await house.ask("DELETE", BAN.format(heron["id"]), token=token)

    assert (banned.status, banned.json["data"]["ended"]) == (200, 1)
    assert refused.code == "account_banned"
    assert cleared.status == 200
    assert await house.log_in("heron", PASSWORD)


async def test_a_user_shows_the_ban_in_force_and_the_list_finds_it(house: Inside) -> None:
    banned, other, ended = [await made(house, name) for name in ("heron", "stork", "egret")]
    token = await caller(house, "rail", "system:*")
    order = {"seconds": 60, "reason": "shared"}
    done = await house.ask("POST", BAN.format(banned["id"]), order, token=token)
    until = done.json["data"]["until"]
    await house.data("POST", BAN.format(ended["id"]), {"seconds": 60})
    execute(house, "UPDATE sys.user_ban SET until = now() WHERE user_id = %s", ended["id"])

    shown = await house.data("GET", f"/api/user/{banned['id']}")
    ban = shown.pop("ban")
    page = await house.data("GET", "/api/user/list?banned=true")
    others = await house.data("GET", "/api/user/list?banned=false&size=200")

    assert (ban["until"], ban["reason"], ban["bannedBy"]) == (until, "shared", "rail")
    assert ban["createTime"] < until
    assert shown == {name: value for name, value in banned.items() if name != "ban"}  # its version, too
    assert [(user["userName"], user["ban"]) for user in page["items"]] == [("heron", ban)]
    assert {"stork", "egret"} <= {user["userName"] for user in others["items"]}
    assert not [user for user in others["items"] if user["ban"] or user["userName"] == "heron"]
    assert other["ban"] is None


async def test_nobody_bans_themselves(house: Inside) -> None:
    answer = await house.ask("POST", BAN.format(1), {})
    assert (answer.status, answer.code, answer.json["layer"]) == (409, "conflict", "account")
    assert (await house.ask("GET", "/api/user/info")).status == 200


async def test_of_two_administrators_who_ban_one_another_at_once_one_stays(house: Inside) -> None:
    for number in range(5):
        names = [f"heron{number}", f"stork{number}"]
        people = [await made(house, name, role_id(house, "super")) for name in names]
        tokens = [await house.log_in(name, PASSWORD) for name in names]

        done = await asyncio.gather(
            house.ask("POST", BAN.format(people[1]["id"]), {}, token=tokens[0]),
            house.ask("POST", BAN.format(people[0]["id"]), {}, token=tokens[1]),
        )

        assert min(answer.status for answer in done) == 200
        revokes_tokens = [(await house.ask("GET", "/api/user/info", token=token)).status for token in tokens]
        assert sorted(revokes_tokens) == [200, 403]


async def test_a_ban_of_a_user_who_is_gone_can_be_cleared(house: Inside) -> None:
    heron = await made(house, "heron")
    await house.data("POST", BAN.format(heron["id"]), {})
    execute(house, "DELETE FROM sys.user WHERE id = %s", heron["id"])

    assert (await house.ask("DELETE", BAN.format(heron["id"]))).status == 200
    assert (await house.ask("POST", BAN.format(heron["id"]), {})).status == 404


async def test_a_ban_outlives_the_session_store_and_an_unban_clears_it_everywhere(service: Inside) -> None:
    heron = await made(service)
    order = {"seconds": 3600, "reason": "shared"}
    until = (await service.data("POST", BAN.format(heron["id"]), order))["until"]
    with redis.Redis.from_url(service.redis_url) as store:
        store.flushdb()
    service.token = await service.log_in()

    refused = await service.ask("POST", "/api/auth/login", {"userName": "heron", "password": PASSWORD})
    assert (refused.code, refused.json["until"]) == ("account_banned", until)

    await service.data("DELETE", BAN.format(heron["id"]))
    assert await service.log_in("heron", PASSWORD)


async def test_enabling_a_user_lifts_no_ban_and_unbanning_enables_nobody(house: Inside) -> None:
    heron = await made(house)
    login = {"userName": "heron", "password": PASSWORD}
    status = f"/api/user/{heron['id']}/status"
    await house.data("POST", BAN.format(heron["id"]), {})
    await house.data("PUT", status, {"status": "disabled"})

    await house.data("PUT", status, {"status": "enabled"})
    assert (await house.ask("POST", "/api/auth/login", login)).code == "account_banned"

    await house.data("PUT", status, {"status": "disabled"})
    await house.data("DELETE", BAN.format(heron["id"]))
    assert (await house.ask("POST", "/api/auth/login", login)).code == "account_disabled"


async def test_a_banned_administrator_changes_nothing_even_where_the_store_lets_them_in(
    house: Inside,
) -> None:
    """The caller was banned in the very moment: the database refuses what the store has let through."""
    heron = await made(house, "heron", role_id(house, "super"))
    stork = await made(house, "stork")
    token = await house.log_in("heron", PASSWORD)
    execute(
        house,
        "INSERT INTO sys.user_ban (user_id, reason, banned_by) VALUES (%s, '', 1)",
        heron["id"],
    )

    answer = await house.ask("PATCH", f"/api/user/{stork['id']}", {"nickName": "Egret"}, token=token)
    assert answer.code == "refresh_required"


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


async def test_what_is_no_id_of_a_user_ends_nothing(house: Inside) -> None:
    await made(house, "heron")
    token = await on_desk(house, "heron")

    for login_id in ("0", "-1", "01", "1*", "*", "x", "1:desk", "9" * 19, "9" * 30):
        for method, below, body in (("DELETE", "", None), ("DELETE", "/desk", None), ("POST", "/ban", {})):
            answer = await house.ask(method, f"/api/online/{login_id}{below}", body)
            assert answer.status in (404, 422), (login_id, below)
    assert await works(house, token)
