"""A right that somebody holds for a time is given on only up to its own end, in every way."""

from datetime import UTC, datetime, timedelta
from typing import Any

from service.kernel.clock import rfc3339
from tests.support.inside import Inside
from tests.support.without import is_off, is_served
from tests.users.people import PASSWORD, execute, made, new_role, role_id

RIGHT = "system:file:list"
OWN = (
    *("system:user:list", "system:user:detail", "system:user:create", "system:user:update"),
    *("system:user:import", "system:role:create", "system:role:update", "system:role:permission"),
    *("system:role:import", "system:directory:update"),
)
ANY = ("If-Match", "*")


def after(hours: float) -> str:
    return rfc3339(datetime.now(UTC) + timedelta(hours=hours))


async def for_a_time(house: Inside, hours: float = 1) -> str:
    """Return the token of somebody who edits users and roles for good, and holds ``RIGHT`` for a time."""
    heron = await made(house, "heron", new_role(house, "editor", *OWN))
    new_role(house, "files", RIGHT)
    body = {"roleCode": "files", "until": after(hours)}
    await house.data("POST", f"/api/user/{heron['id']}/roles", body)
    return await house.log_in("heron", PASSWORD)


async def test_it_is_assigned_until_its_end_and_not_beyond(house: Inside) -> None:
    token = await for_a_time(house)
    egret = await made(house, "egret")
    target = f"/api/user/{egret['id']}/roles"

    for until in ({}, {"until": after(2)}):
        answer = await house.ask("POST", target, {"roleCode": "files", **until}, token=token)
        assert (answer.status, answer.json["layer"]) == (403, "grant"), answer.body
        assert answer.json["required"] == [RIGHT]
        assert "you hold the missing permissions only until" in answer.json["detail"]
    given = await house.ask("POST", target, {"roleCode": "files", "until": after(0.5)}, token=token)
    assert given.status == 201, given.body
    assignment = f"{target}/{given.json['data']['id']}"
    for later in (None, after(2)):
        answer = await house.ask("PATCH", assignment, {"until": later}, ANY, token=token)
        assert (answer.status, answer.json["layer"]) == (403, "grant")
    assert (await house.ask("PATCH", assignment, {"until": after(0.7)}, ANY, token=token)).status == 200
    assert (await house.ask("DELETE", assignment, None, ANY, token=token)).status == 200


async def test_no_way_of_giving_without_an_end_gives_it(house: Inside) -> None:
    token = await for_a_time(house)
    egret = await made(house, "egret")
    files, idle, off = role_id(house, "files"), new_role(house, "idle"), new_role(house, "off", RIGHT)
    execute(house, "UPDATE sys.role SET enabled = false WHERE id = %s", off)
    ways: list[tuple[str, str, Any]] = [
        ("PATCH", f"/api/user/{egret['id']}", {"roleIds": [files]}),
        (
            "POST",
            "/api/user",
            {"userName": "kite", "nickName": "K", "password": PASSWORD, "roleIds": [files]},
        ),
        ("POST", "/api/user/bulk/role", {"ids": [egret["id"]], "roleId": files, "action": "give"}),
        ("POST", "/api/user/import", {"users": [{"userName": "egret", "roles": ["files"]}]}),
        ("PUT", f"/api/role/{idle}/permissions", {"permissions": [RIGHT]}),
        ("POST", "/api/role", {"roleCode": "new", "roleName": "New", "permissions": [RIGHT]}),
        ("POST", "/api/role/import", {"roles": [{"roleCode": "idle", "permissions": [RIGHT]}]}),
        ("PATCH", f"/api/role/{off}", {"enabled": True}),
        (
            "PUT",
            "/api/directory/entra",
            {"kind": "oidc", "mapping": [], "ceiling": [RIGHT], "enabled": not is_off("oidc")},
        ),
    ]
    ways = [way for way in ways if is_served(way[1])]

    for way in ways:
        answer = await house.ask(*way, ANY, token=token)
        assert answer.status in (403, 422), (way, answer.body)
        assert b'"layer":"grant"' in answer.body, (way, answer.body)
    execute(house, "UPDATE sys.user_role SET valid_until = NULL WHERE role_id = %s", files)
    token = await house.log_in("heron", PASSWORD)
    for way in ways[:-1]:
        assert (await house.ask(*way, ANY, token=token)).status in (200, 201), way


async def test_it_is_taken_away_and_acted_on_as_before(house: Inside) -> None:
    token = await for_a_time(house)
    egret = await made(house, "egret", role_id(house, "files"))

    renamed = await house.ask("PATCH", f"/api/user/{egret['id']}", {"nickName": "E"}, ANY, token=token)
    assert renamed.status == 200, renamed.body
    taken = await house.ask("PATCH", f"/api/user/{egret['id']}", {"roleIds": []}, ANY, token=token)
    assert taken.status == 200, taken.body


async def test_the_last_of_several_ends_counts(house: Inside) -> None:
    token = await for_a_time(house)
    ((heron,),) = execute(house, "SELECT id FROM sys.user WHERE user_name = 'heron'")
    await house.data("POST", f"/api/user/{heron}/roles", {"roleCode": "files", "until": after(3)})
    token = await house.log_in("heron", PASSWORD)
    egret = await made(house, "egret")
    body = {"roleCode": "files", "until": after(2)}
    assert (await house.ask("POST", f"/api/user/{egret['id']}/roles", body, token=token)).status == 201
