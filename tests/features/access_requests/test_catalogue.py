"""The catalogue of roles: what each caller may ask for, what it opens, and who approves."""

from typing import Any

from tests.features.access_requests.test_requests import ONE, ruled
from tests.roles.test_request_rules import RULE, path
from tests.support.inside import Inside
from tests.support.members import Member, member, query

LIST = "/api/access-request/role/list"


async def catalogue(person: Member, query: str = "") -> Any:
    answer = await person.ask("GET", f"{LIST}{query}")
    assert answer.status == 200, answer.body
    return answer.json["data"]


async def offered(person: Member) -> Any:
    (role,) = (await catalogue(person))["items"]
    return role


async def role(house: Inside, code: str, *codes: str, **changes: Any) -> int:
    body = {"roleName": f"The {code}", "roleCode": code, "permissions": list(codes)}
    made = await house.ask("POST", "/api/role", body)
    assert made.status == 201, made.body
    number: int = made.json["data"]["id"]
    await house.data("PUT", path(number), RULE | {"stages": [ONE], **changes})
    return number


async def test_a_role_says_what_it_opens_for_how_long_and_who_approves(house: Inside) -> None:
    number = await ruled(house, "system:file:list", maxDuration=7200, reasonRequired=True)
    await house.data("PATCH", f"/api/role/{number}", {"maxDuration": 3600, "description": "For the books"})
    heron = await member(house, "heron-1")
    await member(house, "kestrel", "system:user:list", "system:file:list")

    shown = await offered(heron)

    assert (shown["roleId"], shown["roleCode"], shown["description"]) == (number, "heron", "For the books")
    assert (shown["maxDuration"], shown["reasonRequired"], shown["emergency"]) == (3600, True, False)
    assert shown["opens"] == [{"menu": "Files", "buttons": ["List files"]}]
    # The first administrator holds everything.
    assert shown["stages"] == [ONE | {"approvers": ["admin", "kestrel"]}]


async def test_each_caller_is_told_only_the_roles_whose_rules_let_the_caller_ask(house: Inside) -> None:
    await role(house, "heron")
    await role(house, "egret", requestableBy="system:user:list")
    number = await role(house, "stork")
    anybody, lister = await member(house, "anybody"), await member(house, "lister", "system:user:list")

    listed = [[each["roleCode"] for each in (await catalogue(who))["items"]] for who in (anybody, lister)]
    assert listed == [["heron", "stork"], ["egret", "heron", "stork"]]

    await house.data("PATCH", f"/api/role/{number}", {"enabled": False})
    assert [each["roleCode"] for each in (await catalogue(anybody))["items"]] == ["heron"]
    part = await catalogue(lister, "?size=1&page=2")
    assert ([each["roleCode"] for each in part["items"]], part["total"]) == (["heron"], 2)


async def test_only_others_who_could_approve_are_named_and_of_many_nobody(house: Inside) -> None:
    await ruled(house, "system:file:list")
    own = await member(house, "own", "system:user:list", "system:file:list")
    await member(house, "grants-nothing", "system:user:list")
    assert (await offered(own))["stages"][0]["approvers"] == ["admin"]

    for name in ("kestrel", "raven", "rook"):
        await member(house, name, "system:user:list", "system:file:list")
    assert (await offered(own))["stages"][0]["approvers"] is None


async def test_a_stage_whose_code_nobody_else_holds_names_nobody(house: Inside) -> None:
    await ruled(house, stages=[ONE | {"code": "system:menu:list"}])
    await house.ask(
        "POST", "/api/user", {"userName": "x-1", "nickName": "X", "password": "six stubborn otters"}
    )
    admin = await member(house, "second", "*")
    assert (await offered(admin))["stages"][0]["approvers"] == ["admin"]


async def test_a_disabled_button_is_not_said_to_open_anything(house: Inside) -> None:
    await ruled(house, "system:file:list")
    heron = await member(house, "heron-1")
    await query(house, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:file:list'")
    try:
        assert (await offered(heron))["opens"] == []
    finally:
        await query(house, "UPDATE sys.menu SET enabled = true WHERE auth_mark = 'system:file:list'")


async def test_an_api_key_is_told_of_no_role(house: Inside) -> None:
    await ruled(house)
    robot = await house.data(
        "POST", "/api/user", {"userName": "robot", "nickName": "Robot", "kind": "service"}
    )
    key = await house.data("POST", f"/api/user/{robot['id']}/keys", {"name": "k"})
    answer = await house.ask("GET", LIST, token=key["key"])
    assert (answer.status, answer.json["data"]["total"]) == (200, 0), answer.body
