"""Nobody gives what they do not hold, and nobody acts on someone who holds more than they do."""

import asyncio
from typing import Any

import pytest

from tests.support.inside import Inside
from tests.users.people import HERON, PASSWORD, caller, execute, made, new_role, role_id

ACTS: list[tuple[str, str, Any]] = [
    ("PATCH", "", {"nickName": "Egret"}),
    ("PATCH", "", {"userName": "egret"}),
    ("PATCH", "", {"roleIds": []}),
    ("PATCH", "", {"status": "disabled"}),
    ("PUT", "/status", {"status": "disabled"}),
    ("PUT", "/password", {"newPassword": "five wary herons"}),
    ("DELETE", "", None),
]


@pytest.mark.parametrize(
    ("held", "role", "lacking"),
    [
        (["system:user:create"], "super", ["*"]),
        (["system:*"], "super", ["*"]),
        (["system:user:create", "system:user:list"], "admin", ["system:*"]),
        (["system:*"], "admin", None),
        (["system:*"], "auditor", None),
        (["system:user:create"], "user", None),
        (["*"], "super", None),
    ],
)
async def test_nobody_gives_a_role_that_gives_more(
    house: Inside, held: list[str], role: str, lacking: list[str] | None
) -> None:
    token = await caller(house, "stork", *held)

    answer = await house.ask("POST", "/api/user", HERON | {"roleIds": [role_id(house, role)]}, token=token)

    if lacking is None:
        assert answer.status == 201
    else:
        assert (answer.status, answer.code, answer.json["required"]) == (403, "permission_denied", lacking)
        assert execute(house, "SELECT count(*) FROM sys.user WHERE user_name = 'heron'") == [(0,)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sys.role SET enabled = false WHERE role_code = 'dormant'",
        "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:online:ban'",
    ],
)
async def test_what_is_disabled_counts_since_it_can_be_enabled(house: Inside, statement: str) -> None:
    dormant = new_role(house, "dormant", "system:online:ban")
    token = await caller(house, "stork", "system:user:create", "system:user:update")
    heron = await made(house, "heron", dormant)
    execute(house, statement)

    given = await house.ask("POST", "/api/user", HERON | {"userName": "x", "roleIds": [dormant]}, token=token)
    touched = await house.ask("PATCH", f"/api/user/{heron['id']}", {"nickName": "x"}, token=token)

    for answer in (given, touched):
        assert (answer.code, answer.json["required"]) == ("permission_denied", ["system:online:ban"])


async def test_nobody_acts_on_somebody_who_holds_more(house: Inside) -> None:
    heron = await made(house, "heron", role_id(house, "super"))
    token = await caller(house, "stork", "system:*")

    for method, path, body in ACTS:
        answer = await house.ask(method, f"/api/user/{heron['id']}{path}", body, token=token)
        assert (answer.code, answer.json["required"]) == ("permission_denied", ["*"]), (method, path, body)

    assert await house.data("GET", f"/api/user/{heron['id']}") == heron
    assert await house.log_in("heron", PASSWORD)


async def test_permitted_callers_act_on_users_who_hold_no_more(house: Inside) -> None:
    token = await caller(house, "stork", "system:*")
    for number, (method, path, body) in enumerate(ACTS):
        heron = await made(house, f"heron{number}", role_id(house, "auditor"))
        answer = await house.ask(method, f"/api/user/{heron['id']}{path}", body, token=token)
        assert answer.status == 200, (method, path, body)


async def test_nobody_changes_their_own_roles(house: Inside) -> None:
    token = await caller(house, "stork", "*")
    me = (await house.ask("GET", "/api/user/info", token=token)).json["data"]["userId"]
    ((mine,),) = execute(house, "SELECT role_id FROM sys.user_role WHERE user_id = %s", me)

    for roles in ([], [mine, role_id(house, "user")], [role_id(house, "super")]):
        answer = await house.ask("PATCH", f"/api/user/{me}", {"roleIds": roles}, token=token)
        refusal = (answer.status, answer.json["layer"], answer.json["required"], answer.json["field"])
        assert refusal == (409, "account", [], "roles")

    same = await house.ask("PATCH", f"/api/user/{me}", {"roleIds": [mine, mine], "phone": "123"}, token=token)
    assert [role["id"] for role in same.json["data"]["roles"]] == [mine]


async def test_nobody_locks_themselves_out(house: Inside) -> None:
    await made(house, "heron", role_id(house, "super"))
    disabled = {"status": "disabled"}
    for method, path, body in (("PUT", "/status", disabled), ("PATCH", "", disabled), ("DELETE", "", None)):
        answer = await house.ask(method, f"/api/user/1{path}", body)
        assert (answer.status, answer.code, answer.json["layer"]) == (409, "conflict", "account")
    assert (await house.data("GET", "/api/user/1"))["version"] == 1


async def test_rights_that_were_lost_since_the_token_was_issued_count_no_more(house: Inside) -> None:
    token = await caller(house, "stork", "system:*")
    auditor = role_id(house, "auditor")
    # Past the service: nobody has been marked.
    execute(
        house, "DELETE FROM sys.role_menu USING sys.role WHERE id = role_id AND role_code = 'role-of-stork'"
    )

    answer = await house.ask("POST", "/api/user", HERON | {"roleIds": [auditor]}, token=token)

    assert answer.code == "permission_denied"


@pytest.mark.parametrize("act", [{"roleIds": []}, {"status": "disabled"}, None])
async def test_of_the_last_two_administrators_who_act_on_each_other_at_once_one_stays(
    service: Inside, act: dict[str, Any] | None
) -> None:
    for number in range(3):
        other = await made(service, f"heron{number}", role_id(service, "super"))
        token = await service.log_in(other["userName"], PASSWORD)
        pairs = ((other["id"], service.token), (1, token))

        done = await asyncio.gather(
            *(
                service.ask("PATCH" if act else "DELETE", f"/api/user/{user_id}", act, token=by)
                for user_id, by in pairs
            )
        )

        assert [answer.status for answer in done].count(200) == 1
        assert all(answer.status in (200, 401, 403, 409) for answer in done)
        left = execute(
            service,
            "SELECT u.id FROM sys.user u JOIN sys.user_role ON user_id = u.id"
            " WHERE status = 'enabled' AND role_id = %s",
            role_id(service, "super"),
        )
        assert len(left) == 1
        if left == [(1,)]:
            execute(service, "DELETE FROM sys.user WHERE id = %s", other["id"])
        else:
            return
