"""Somebody who is invited sets the first password by a link, once, and is nobody to a login before."""

import asyncio
from itertools import count
from typing import Any, Final

from tests.support.inside import Inside
from tests.support.waiting import eventually_here
from tests.web.driver import Answer

PASSWORD: Final = "five wary herons at dawn"
_numbers = count(1)


async def invited(house: Inside, **values: Any) -> dict[str, Any]:
    """Create a user without a password."""
    name = f"guest-{next(_numbers)}"
    body = {"userName": name, "nickName": name, "invite": True, **values}
    made: dict[str, Any] = await house.data("POST", "/api/user", body)
    return made


async def link_of(house: Inside, user_id: int) -> str:
    """Invite a user, and return the token of the link."""
    answer = await house.data("POST", f"/api/user/{user_id}/invitation")
    assert set(answer) == {"expiresAt", "url"}
    page, _, token = answer["url"].partition("?token=")
    assert page == "/console#/invitation"
    return str(token)


async def accept(house: Inside, token: str, password: str = PASSWORD) -> Answer:
    return await house.as_anonymous(
        "POST", "/api/auth/invitation", body={"token": token, "password": password}
    )


async def log_in(house: Inside, name: str, password: str = PASSWORD) -> Answer:
    return await house.as_anonymous("POST", "/api/auth/login", body={"userName": name, "password": password})


def execute(house: Inside, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    cursor = house.beside().execute(statement.encode(), values)
    return cursor.fetchall() if cursor.description else []


def shape(answer: Answer) -> tuple[int, dict[str, Any], list[str]]:
    """Return what is alike in two refusals: all but the id of the request and the time."""
    body = {name: value for name, value in answer.json.items() if name not in ("requestId", "instance")}
    return answer.status, body, sorted(name for name, _ in answer.headers)


async def test_somebody_invited_sets_a_password_and_logs_in(house: Inside) -> None:
    user = await invited(house)
    assert (user["invited"], user["emailVerified"], user["recoveryEmail"]) == (True, False, None)
    token = await link_of(house, user["id"])
    answer = await accept(house, token)
    assert (answer.status, answer.body) == (204, b"")
    assert not any(name.lower() == "set-cookie" for name, _ in answer.headers)
    assert (await log_in(house, user["userName"])).status == 200
    stored = await house.data("GET", f"/api/user/{user['id']}")
    assert stored["invited"] is False
    assert stored["emailVerified"] is False  # the link was handed over, and shows nothing about an address
    [(initial,)] = execute(house, 'SELECT password_initial FROM sys."user" WHERE id = %s', user["id"])
    assert initial is None


async def test_the_login_of_somebody_invited_is_that_of_an_unknown_user(house: Inside) -> None:
    user = await invited(house)
    refused, unknown = [await log_in(house, name) for name in (user["userName"], "nobody-at-all")]
    assert shape(refused) == shape(unknown)
    assert refused.json["code"] == "login_failed"


async def test_a_password_may_be_missing_only_with_an_invitation_and_only_of_a_person(house: Inside) -> None:
    person = {"userName": "guest", "nickName": "Guest"}
    faults: list[tuple[dict[str, Any], str]] = [
        ({}, "password"),
        ({"invite": False}, "password"),
        ({"invite": True, "password": PASSWORD}, "password"),
        ({"invite": True, "kind": "service"}, "invite"),
    ]
    for given, field in faults:
        answer = await house.ask("POST", "/api/user", person | given)
        assert (answer.status, answer.json["errors"][0]["field"]) == (422, field), given


async def test_a_dry_run_of_an_invited_user_saves_nothing(house: Inside) -> None:
    body = {"userName": "planned", "nickName": "Planned", "invite": True}
    await house.preview("POST", "/api/user", body)
    assert execute(house, 'SELECT id FROM sys."user" WHERE user_name = %s', "planned") == []


async def test_a_link_works_once_ends_with_the_next_one_and_with_its_time(house: Inside) -> None:
    user = await invited(house)
    first, second = [await link_of(house, user["id"]) for _ in range(2)]
    refusals = [await accept(house, first), await accept(house, "x" * 43), await accept(house, "\u00e4")]
    execute(house, "UPDATE sys.account_token SET expires_time = now() WHERE user_id = %s", user["id"])
    refusals.append(await accept(house, second))
    third = await link_of(house, user["id"])
    assert (await accept(house, third)).status == 204
    refusals.append(await accept(house, third))
    assert {answer.json["code"] for answer in refusals} == {"link_invalid"}
    assert all(shape(answer) == shape(refusals[0]) for answer in refusals)


async def test_of_two_uses_at_once_one_wins(house: Inside) -> None:
    user = await invited(house)
    token = await link_of(house, user["id"])
    passwords = [f"{number} wary herons at dawn" for number in range(4)]
    answers = await asyncio.gather(*(accept(house, token, password) for password in passwords))
    assert sorted(answer.status for answer in answers) == [204, 403, 403, 403]
    logins = [await log_in(house, user["userName"], password) for password in passwords]
    assert [answer.status == 200 for answer in logins] == [answer.status == 204 for answer in answers]


async def test_a_refused_password_leaves_the_link(house: Inside) -> None:
    user = await invited(house)
    token = await link_of(house, user["id"])
    for weak in ("short", user["userName"] * 3):
        answer = await accept(house, token, weak)
        assert (answer.status, answer.json["errors"][0]["field"]) == (422, "password")
    assert (await accept(house, token)).status == 204


async def test_only_the_digest_of_a_token_is_stored_and_no_log_has_it(house: Inside) -> None:
    user = await invited(house)
    token = await link_of(house, user["id"])
    [(row,)] = execute(
        house, "SELECT to_jsonb(t)::text FROM sys.account_token t WHERE user_id = %s", user["id"]
    )
    assert token not in row
    await accept(house, token)

    def entries() -> list[str]:
        statement = "SELECT to_jsonb(l)::text FROM sys.operation_log l WHERE url LIKE %s"
        return [text for (text,) in execute(house, statement, "%invitation")]

    target = f"user:{user['userName']}"
    assert await eventually_here(lambda: sum(target in entry for entry in entries()) == 2)
    assert not any(token in entry or PASSWORD in entry for entry in entries())


async def test_who_has_a_password_and_a_service_account_are_not_invited(house: Inside) -> None:
    body = {"userName": "keeper", "nickName": "Keeper", "password": PASSWORD}
    person = await house.data("POST", "/api/user", body)
    account = await house.data("POST", "/api/user", {"userName": "robot", "nickName": "R", "kind": "service"})
    for user in (person, account):
        answer = await house.ask("POST", f"/api/user/{user['id']}/invitation")
        assert (answer.status, answer.json["rule"]) == (409, "has_password")
    answer = await house.ask("POST", "/api/user/1/invitation")
    assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert (await house.ask("POST", "/api/user/999999/invitation")).status == 404


async def test_a_password_that_an_administrator_sets_ends_the_invitation(house: Inside) -> None:
    user = await invited(house)
    token = await link_of(house, user["id"])
    other = "six wary otters at noon"
    await house.data("PUT", f"/api/user/{user['id']}/password", {"newPassword": other})
    assert (await accept(house, token)).json["code"] == "link_invalid"
    assert (await log_in(house, user["userName"], other)).status == 200


async def test_nobody_invites_a_user_who_holds_more(house: Inside) -> None:
    menus = (await house.data("GET", "/api/menu/list?size=200"))["items"]
    buttons = {menu["authMark"]: menu["id"] for menu in menus if menu.get("authMark")}
    role = await house.data("POST", "/api/role", {"roleCode": "creators", "roleName": "Creators"})
    granted = {"menuIds": [buttons["system:user:create"]]}
    await house.data("PUT", f"/api/role/{role['id']}/permissions", granted)
    body = {"userName": "maker", "nickName": "Maker", "password": PASSWORD, "roleIds": [role["id"]]}
    await house.data("POST", "/api/user", body)
    token = await house.log_in("maker", PASSWORD)
    more = await house.data("POST", "/api/role", {"roleCode": "more", "roleName": "More"})
    granted = {"menuIds": [buttons["system:user:delete"]]}
    await house.data("PUT", f"/api/role/{more['id']}/permissions", granted)
    weak, strong = await invited(house), await invited(house, roleIds=[more["id"]])
    assert (await house.ask("POST", f"/api/user/{weak['id']}/invitation", token=token)).status == 200
    answer = await house.ask("POST", f"/api/user/{strong['id']}/invitation", token=token)
    assert (answer.status, answer.json["required"]) == (403, ["system:user:delete"])


async def test_an_account_of_a_service_invites_nobody(house: Inside) -> None:
    await house.data("POST", "/api/service", {"name": "orders"})
    body = {"userName": "orders-bot", "nickName": "Bot", "kind": "service", "service": "orders"}
    account = await house.data("POST", "/api/user", body | {"roleIds": [1]})
    key = (await house.data("POST", f"/api/user/{account['id']}/keys", {"name": "key"}))["key"]
    user = await invited(house)
    answer = await house.ask("POST", f"/api/user/{user['id']}/invitation", token=key)
    assert (answer.status, answer.json["code"]) == (403, "permission_denied")


async def test_an_invited_administrator_does_not_count_as_one_yet(house: Inside) -> None:
    """Else the last one could go, and leave an installation that nobody can log in to."""
    link = await link_of(house, (await invited(house, roleIds=[1]))["id"])
    body = {"userName": "robot", "nickName": "Robot", "kind": "service", "roleIds": [1]}
    account = await house.data("POST", "/api/user", body)
    key = (await house.data("POST", f"/api/user/{account['id']}/keys", {"name": "key"}))["key"]

    async def set_status(status: str) -> Answer:
        return await house.ask("PUT", "/api/user/1/status", {"status": status}, token=key)

    refused = await set_status("disabled")
    assert (refused.status, refused.json["rule"]) == (409, "last_administrator")
    assert (await accept(house, link)).status == 204
    assert (await set_status("disabled")).status == 200
    assert (await set_status("enabled")).status == 200


async def test_users_are_listed_by_whether_they_are_invited(house: Inside) -> None:
    user = await invited(house)
    listed = await house.data("GET", "/api/user/list?invited=true")
    assert [item["id"] for item in listed["items"]] == [user["id"]]
    names = [item["userName"] for item in (await house.data("GET", "/api/user/list?invited=false"))["items"]]
    assert user["userName"] not in names
