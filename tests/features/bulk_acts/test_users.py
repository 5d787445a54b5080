"""The same act on many users: all of them or none, by the rules of the act on one."""

import asyncio
from typing import Any

import pytest

from service.features.bulk_acts.users import MAX_USERS
from tests.support.inside import Inside
from tests.support.members import member
from tests.users.people import PASSWORD, execute, made, new_role, role_id
from tests.web.driver import Answer

STATUS, ROLE, SESSIONS = (f"/api/user/bulk/{act}" for act in ("status", "role", "end-sessions"))
EDITOR, KICKER = "system:user:update", "system:online:kick"


async def people(house: Inside, *names: str, **values: Any) -> list[int]:
    return [(await made(house, name, **values))["id"] for name in names]


def statuses(house: Inside, ids: list[int]) -> list[str]:
    rows: dict[int, str] = dict(execute(house, "SELECT id, status FROM sys.user WHERE id = ANY (%s)", ids))
    return [rows[user_id] for user_id in ids]


def in_role(house: Inside, role: int) -> set[int]:
    return {user for (user,) in execute(house, "SELECT user_id FROM sys.user_role WHERE role_id = %s", role)}


def refused(answer: Answer) -> list[tuple[int, str, str]]:
    assert answer.status == 422, answer.body
    return [(error["row"], error["field"], error["code"]) for error in answer.json["errors"]]


async def test_many_are_disabled_and_enabled_and_who_was_so_before_is_not_touched(house: Inside) -> None:
    ids = await people(house, "heron", "egret")
    ids += await people(house, "stork", status="disabled")
    token = await house.log_in("heron", PASSWORD)

    done = await house.data("POST", STATUS, {"ids": ids, "status": "disabled"})

    assert done == {"changed": 2, "unchanged": 1}
    assert statuses(house, ids) == ["disabled"] * 3
    assert (await house.ask("GET", "/api/user/info", token=token)).code == "account_banned"
    assert (await house.data("GET", f"/api/user/{ids[2]}"))["version"] == 1
    assert await house.data("POST", STATUS, {"ids": ids, "status": "enabled"}) == {
        "changed": 3,
        "unchanged": 0,
    }
    assert await house.log_in("stork", PASSWORD)


async def test_a_role_is_given_to_many_and_taken_and_other_roles_stay(house: Inside) -> None:
    auditor, user = role_id(house, "auditor"), role_id(house, "user")
    ids = await people(house, "heron", "egret", roleIds=[user])
    before = in_role(house, user)
    token = await house.log_in("heron", PASSWORD)
    order = {"ids": ids, "roleId": auditor}

    assert (await house.data("POST", ROLE, order | {"action": "give"}))["changed"] == 2
    assert (await house.ask("GET", "/api/user/info", token=token)).code == "refresh_required"
    assert (await house.data("POST", ROLE, order | {"action": "give"}))["unchanged"] == 2
    assert set(ids) <= in_role(house, auditor)
    assert (await house.data("POST", ROLE, order | {"action": "take"}))["changed"] == 2
    assert not set(ids) & in_role(house, auditor)
    assert in_role(house, user) == before


async def test_the_sessions_of_many_end_and_who_has_none_is_unchanged(house: Inside) -> None:
    ids = await people(house, "heron", "egret", "stork")
    tokens = [await house.log_in(name, PASSWORD) for name in ("heron", "egret")]

    assert await house.data("POST", SESSIONS, {"ids": ids}) == {"changed": 2, "unchanged": 1}

    for token in tokens:
        assert (await house.ask("GET", "/api/user/info", token=token)).status == 401
    online = (await house.data("GET", "/api/online/list?size=200"))["items"]
    assert not {str(user_id) for user_id in ids} & {session["loginId"] for session in online}


@pytest.mark.parametrize("path", [STATUS, ROLE, SESSIONS])
async def test_each_refusal_is_listed_with_its_place_and_nothing_is_saved(house: Inside, path: str) -> None:
    ids = [*await people(house, "heron", "egret", roleIds=[role_id(house, "auditor")]), 4711]
    ids.append((await made(house, "boss", role_id(house, "super")))["id"])
    clerk = await member(house, "clerk", EDITOR, KICKER)
    small = new_role(house, "small", EDITOR)
    ids += await people(house, "stork")
    orders: dict[str, Any] = {STATUS: {"status": "disabled"}, ROLE: {"roleId": small, "action": "give"}}
    body = {"ids": [*ids, ids[0]], **orders.get(path, {})}

    answer = await clerk.ask("POST", path, body)

    denied = [(place + 1, f"ids[{place}]", "permission_denied") for place in (0, 1, 3)]
    expected = [*denied, (3, "ids[2]", "not_found"), (6, "ids", "validation_failed")]
    expected.append((6, "ids[5]", "permission_denied"))
    assert sorted(refused(answer)) == sorted(expected)
    lacking = next(error for error in answer.json["errors"] if error["row"] == 4)
    assert (lacking["layer"], "*" in lacking["required"]) == ("grant", True)
    assert statuses(house, [ids[4]]) == ["enabled"]
    assert in_role(house, small) == set()


async def test_each_act_needs_the_code_of_the_act_on_one_user(house: Inside) -> None:
    ids = await people(house, "heron")
    editor, kicker = await member(house, "editor", EDITOR), await member(house, "kicker", KICKER)
    role = new_role(house, "small")
    for path, body, may, may_not in (
        (STATUS, {"status": "disabled"}, editor, kicker),
        (ROLE, {"roleId": role, "action": "give"}, editor, kicker),
        (SESSIONS, {}, kicker, editor),
    ):
        assert (await may.ask("POST", path, {"ids": ids, **body})).status == 200
        denied = await may_not.ask("POST", path, {"ids": ids, **body})
        assert (denied.status, denied.json["layer"]) == (403, "endpoint")


async def test_nobody_gives_a_role_with_codes_that_they_lack_or_one_that_is_not_there(house: Inside) -> None:
    (heron,) = await people(house, "heron")
    clerk = await member(house, "clerk", EDITOR)
    for action in ("give", "take"):
        order = {"ids": [heron], "roleId": role_id(house, "super"), "action": action}
        denied = await clerk.ask("POST", ROLE, order)
        assert (denied.status, denied.json["layer"], denied.json["required"]) == (403, "grant", ["*"])
        unknown = await clerk.ask("POST", ROLE, order | {"roleId": 4711})
        assert (unknown.status, unknown.fields) == (422, ["roleId"])


async def test_the_own_account_is_spared_as_by_the_single_act(house: Inside) -> None:
    (heron,) = await people(house, "heron")
    clerk = await member(house, "clerk", EDITOR, KICKER)
    ids = [heron, clerk.user_id]
    role = new_role(house, "small")

    disabled = await clerk.ask("POST", STATUS, {"ids": ids, "status": "disabled"})
    given = await clerk.ask("POST", ROLE, {"ids": ids, "roleId": role, "action": "give"})

    assert refused(disabled) == refused(given) == [(2, "ids[1]", "conflict")]
    assert statuses(house, ids) == ["enabled", "enabled"]
    assert in_role(house, role) == set()
    assert (await clerk.ask("POST", STATUS, {"ids": ids, "status": "enabled"})).status == 200
    assert (await clerk.ask("POST", SESSIONS, {"ids": ids})).json["data"]["changed"] == 1


async def test_the_last_administrator_stays_and_with_them_all_others_of_the_request(house: Inside) -> None:
    (heron,) = await people(house, "heron")
    robot = await made_robot(house)
    boss = role_id(house, "super")
    for path, order in ((STATUS, {"status": "disabled"}), (ROLE, {"roleId": boss, "action": "take"})):
        answer = await house.ask("POST", path, {"ids": [heron, 1], **order}, token=robot)
        assert (answer.status, answer.json["rule"]) == (409, "last_administrator")
    assert statuses(house, [heron, 1]) == ["enabled", "enabled"]
    assert 1 in in_role(house, boss)


async def test_of_two_administrators_who_shut_out_each_other_at_once_one_remains(house: Inside) -> None:
    others = await people(house, "heron", "egret")
    boss = (await made(house, "boss", role_id(house, "super")))["id"]
    tokens = [await house.log_in("boss", PASSWORD), house.token]
    for _ in range(5):
        orders = ([others[0], 1], [others[1], boss])
        answers = await asyncio.gather(
            *(
                house.ask("POST", STATUS, {"ids": ids, "status": "disabled"}, token=token)
                for ids, token in zip(orders, tokens, strict=True)
            )
        )
        (done,) = (place for place, answer in enumerate(answers) if answer.status == 200)
        assert statuses(house, orders[done]) == ["disabled", "disabled"]
        assert statuses(house, orders[1 - done]) == ["enabled", "enabled"]
        order = {"ids": orders[done], "status": "enabled"}
        assert (await house.ask("POST", STATUS, order, token=tokens[done])).status == 200
        tokens = [await house.log_in("boss", PASSWORD), await house.log_in()]


async def test_a_dry_run_tells_one_impact_of_all_and_saves_nothing(house: Inside) -> None:
    ids = await people(house, "heron", "egret", "stork")
    await house.log_in("heron", PASSWORD)
    auditor = role_id(house, "auditor")
    order = {"ids": ids, "roleId": auditor, "action": "give"}

    answer = (await house.ask("POST", f"{ROLE}?dryRun=true", order)).json

    assert answer["data"] == {"changed": 3, "unchanged": 0}
    (gained,) = answer["preview"]["gains"]
    assert (gained["roleCode"], gained["users"], answer["preview"]["sessions"]) == ("auditor", 3, 1)
    assert not set(ids) & in_role(house, auditor)
    assert (await house.preview("POST", SESSIONS, {"ids": ids}))["sessions"] == 1
    assert (await house.preview("POST", STATUS, {"ids": ids, "status": "disabled"}))["sessions"] == 1
    assert statuses(house, ids) == ["enabled"] * 3
    refusal = await house.ask("POST", f"{STATUS}?dryRun=true", {"ids": [*ids, 1], "status": "disabled"})
    assert refused(refusal) == [(4, "ids[3]", "conflict")]


@pytest.mark.parametrize("path", [STATUS, ROLE, SESSIONS])
async def test_a_request_sent_again_with_its_key_does_nothing_more(house: Inside, path: str) -> None:
    ids = await people(house, "heron", "egret")
    await house.log_in("heron", PASSWORD)
    orders: dict[str, Any] = {
        STATUS: {"status": "disabled"},
        ROLE: {"roleId": role_id(house, "auditor"), "action": "give"},
    }
    body, key = {"ids": ids, **orders.get(path, {})}, ("Idempotency-Key", f"of {path}")

    first = await house.ask("POST", path, body, key)
    await house.data("POST", STATUS, {"ids": ids, "status": "enabled"})
    again = await house.ask("POST", path, body, key)

    assert (first.status, again.status, again.body) == (200, 200, first.body)
    assert (first.header("idempotency-replayed"), again.header("idempotency-replayed")) == (None, "true")
    assert statuses(house, ids) == ["enabled", "enabled"]


@pytest.mark.parametrize("ids", [[], [*range(1, MAX_USERS + 2)], ["1"], [0]])
async def test_too_many_users_or_none_are_refused(house: Inside, ids: list[Any]) -> None:
    answer = await house.ask("POST", STATUS, {"ids": ids, "status": "enabled"})
    assert answer.status == 422
    assert answer.fields[0].startswith("ids")


async def made_robot(house: Inside) -> str:
    """Make a service account that may do everything, which is no administrator; return its API key."""
    account = {"userName": "robot", "nickName": "Robot", "kind": "service"}
    robot = await house.data("POST", "/api/user", account | {"roleIds": [role_id(house, "super")]})
    key = await house.data("POST", f"/api/user/{robot['id']}/keys", {"name": "bulk"})
    return str(key["key"])
