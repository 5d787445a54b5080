"""Assigning a role for a time, changing the window, ending it: /api/user/{id}/roles."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from service.kernel.clock import rfc3339
from tests.support.inside import Inside
from tests.support.without import is_served
from tests.users.people import caller, execute, made, role_id
from tests.web.driver import Answer

HOUR = 3600.0


def after(seconds: float) -> str:
    """Return the time in so many seconds, as answers show times."""
    return rfc3339(datetime.now(UTC) + timedelta(seconds=seconds))


async def assign(house: Inside, user_id: int, **body: Any) -> Any:
    """Assign ``auditor``, or another role, and return the assignment."""
    return await house.data("POST", f"/api/user/{user_id}/roles", {"roleCode": "auditor"} | body)


def faults(answer: Answer) -> list[str]:
    """Return the fields that a refused request names."""
    assert answer.status == 422, answer.body
    return [fault["field"] for fault in answer.json["errors"]]


async def logged(house: Inside, target: str, action: str) -> Any:
    """Return the change that the operation log has of ``action``; it is written a moment later."""
    for _ in range(500):
        entries = await house.data("GET", f"/api/operation-log/list?target={target}&size=200")
        if matches := [entry for entry in entries["items"] if entry["action"] == action]:
            detail = await house.data("GET", f"/api/operation-log/{matches[0]['id']}")
            if detail["changes"]:
                return detail["changes"][0]
        await asyncio.sleep(0.02)
    raise AssertionError(f"{action} is not in the operation log")


async def test_a_role_is_assigned_for_a_time_with_a_reason_and_read_at_its_location(house: Inside) -> None:
    heron = await made(house)
    end = after(HOUR)

    body = {"roleId": role_id(house, "auditor"), "until": end, "reason": "stands in for kestrel"}
    answer = await house.ask("POST", f"/api/user/{heron['id']}/roles", body)

    item = answer.json["data"]
    assert (answer.status, answer.header("etag")) == (201, '"1"')
    assert item == {
        "id": item["id"],
        "userId": heron["id"],
        "userName": "heron",
        "roleId": role_id(house, "auditor"),
        "roleCode": "auditor",
        "from": None,
        "until": end,
        "reason": "stands in for kestrel",
        "source": "direct",
        "directory": None,
        "createTime": item["createTime"],
        "createdBy": "admin",
        "accessRequestId": None,
        "approvedBy": [],
        "version": 1,
        "endTime": None,
        "endedBy": None,
        "how": None,
    }
    location = answer.header("location")
    assert location == f"/api/user/{heron['id']}/roles/{item['id']}"
    assert await house.data("GET", location) == item
    assert (await house.data("GET", f"/api/user/{heron['id']}/roles"))["items"] == [item]
    shown = await house.data("GET", f"/api/user/{heron['id']}")
    assert [role["roleCode"] for role in shown["roles"]] == ["auditor"]
    assert shown["version"] == heron["version"] + 1


async def test_assignments_of_a_role_overlap_and_an_identical_second_one_is_refused(house: Inside) -> None:
    heron = await made(house)
    window = {"from": after(HOUR), "until": after(2 * HOUR)}
    first = await assign(house, heron["id"], **window)
    await assign(house, heron["id"], **window | {"until": after(3 * HOUR)})
    await assign(house, heron["id"])

    for body in (window, {}):
        answer = await house.ask("POST", f"/api/user/{heron['id']}/roles", {"roleCode": "auditor"} | body)
        assert (answer.status, answer.json["rule"]) == (409, "unique")
    answer = await house.ask(
        "POST", f"/api/user/{heron['id']}/roles", {"roleCode": "auditor", **window, "reason": "again"}
    )
    assert answer.json["assignmentId"] == first["id"]
    listed = await house.data("GET", f"/api/user/{heron['id']}/roles")
    assert (listed["total"], {item["roleCode"] for item in listed["items"]}) == (3, {"auditor"})


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({}, "roleId"),
    ({"roleId": 3, "roleCode": "auditor"}, "roleId"),
    ({"roleId": 4711}, "roleId"),
    ({"roleCode": "nobody-has-it"}, "roleCode"),
    ({"roleCode": "auditor", "from": after(2 * HOUR), "until": after(HOUR)}, "from"),
    ({"roleCode": "auditor", "until": after(-HOUR)}, "until"),
    ({"roleCode": "auditor", "until": "2099-01-01T00:00:00"}, "until"),
    ({"roleCode": "auditor", "from": "2099-01-01T00:00:00"}, "from"),
    ({"roleCode": "auditor", "reason": "x" * 501}, "reason"),
    ({"roleCode": "auditor", "reason": "x\x00"}, "reason"),
]


async def test_a_fault_names_its_field(house: Inside) -> None:
    heron = await made(house)
    for body, field in FAULTS:
        assert faults(await house.ask("POST", f"/api/user/{heron['id']}/roles", body)) == [field], body


async def test_a_role_may_demand_an_end_and_a_reason(house: Inside) -> None:
    heron, role = await made(house), role_id(house, "auditor")
    await house.data("PATCH", f"/api/role/{role}", {"maxDuration": 7200, "reasonRequired": True})
    path = f"/api/user/{heron['id']}/roles"

    for body, fields in (
        ({}, ["until", "reason"]),
        ({"until": after(3 * HOUR), "reason": "because"}, ["until"]),
        ({"until": after(HOUR)}, ["reason"]),
        ({"until": after(HOUR), "reason": "  "}, ["reason"]),
        ({"from": after(HOUR), "until": after(4 * HOUR), "reason": "because"}, ["until"]),
    ):
        assert faults(await house.ask("POST", path, {"roleId": role} | body)) == fields
    item = await assign(house, heron["id"], **{"from": after(HOUR), "until": after(2 * HOUR), "reason": "b"})
    for patch, field in (
        ({"until": None}, "until"),
        ({"reason": None}, "reason"),
        ({"reason": " "}, "reason"),
    ):
        assert faults(await house.ask("PATCH", f"{path}/{item['id']}", patch)) == [field]


async def test_a_role_that_demands_something_is_given_by_no_list_of_roles(house: Inside) -> None:
    role, user = role_id(house, "auditor"), role_id(house, "user")
    has = await made(house, "stork", role)
    heron = await made(house)
    await house.data("PATCH", f"/api/role/{role}", {"reasonRequired": True})

    edit = await house.ask("PATCH", f"/api/user/{heron['id']}", {"roleIds": [user, role]})
    assert faults(edit) == ["roleIds[1]"]
    new = {"userName": "egret", "nickName": "E", "password": "four wary herons", "roleIds": [role]}
    assert faults(await house.ask("POST", "/api/user", new)) == ["roleIds[0]"]
    bulk = {"ids": [heron["id"]], "roleId": role, "action": "give"}
    assert (await house.ask("POST", "/api/user/bulk/role", bulk)).status == 422
    for name in ("heron", "egret") if is_served("POST /api/user/import") else ():
        row = {"userName": name, "nickName": "N", "roles": ["auditor"]}
        imported = await house.ask("POST", "/api/user/import", {"users": [row]})
        assert imported.status == 422, imported.body
    kept = await house.data("PATCH", f"/api/user/{has['id']}", {"roleIds": [user, role]})
    assert {each["roleCode"] for each in kept["roles"]} == {"auditor", "user"}


async def test_a_list_of_roles_ends_all_that_are_missing_and_leaves_windows_alone(house: Inside) -> None:
    role, user = role_id(house, "auditor"), role_id(house, "user")
    heron = await made(house)
    path = f"/api/user/{heron['id']}"
    item = await assign(house, heron["id"], until=after(HOUR), reason="because")
    await assign(house, heron["id"], **{"from": after(HOUR)})

    await house.data("PATCH", path, {"roleIds": [role, user]})
    listed = (await house.data("GET", f"{path}/roles"))["items"]
    assert item in listed
    assert [each["until"] for each in listed if each["roleCode"] == "user"] == [None]
    await house.data("PATCH", path, {"roleIds": [user]})
    listed = (await house.data("GET", f"{path}/roles"))["items"]
    assert [each["roleCode"] for each in listed] == ["user"]
    past = (await house.data("GET", f"{path}/roles?ended=true"))["items"]
    assert sorted((each["roleCode"], each["how"]) for each in past if each["how"]) == [
        ("auditor", "revoked"),
        ("auditor", "revoked"),
    ]


async def test_what_has_ended_says_how_and_by_whom(house: Inside) -> None:
    heron = await made(house)
    path = f"/api/user/{heron['id']}/roles"
    ended = await assign(house, heron["id"], until=after(HOUR))
    over = await assign(house, heron["id"], until=after(2 * HOUR))
    execute(house, f"UPDATE sys.user_role SET valid_until = now() - interval '1 s' WHERE id = {over['id']}")

    assert (await house.ask("DELETE", f"{path}/{ended['id']}")).status == 200

    assert (await house.data("GET", path))["items"] == []
    first, second = (await house.data("GET", f"{path}?ended=true"))["items"]
    assert (first["how"], first["endedBy"], first["version"]) == ("revoked", "admin", 0)
    assert (second["how"], second["endedBy"], second["endTime"]) == ("expired", None, second["until"])
    for item in (first, second):
        assert await house.data("GET", f"{path}/{item['id']}") == item
        for method in ("PATCH", "DELETE"):
            answer = await house.ask(method, f"{path}/{item['id']}", {} if method == "PATCH" else None)
            assert (answer.status, answer.json["rule"]) == (409, "history")


async def test_a_patch_changes_what_it_names_and_null_clears(house: Inside) -> None:
    heron = await made(house)
    item = await assign(house, heron["id"], **{"from": after(HOUR), "until": after(2 * HOUR), "reason": "a"})
    path, end = f"/api/user/{heron['id']}/roles/{item['id']}", after(3 * HOUR)

    later = await house.data("PATCH", path, {"until": end})
    assert later == item | {"until": end, "version": 2}
    assert await house.data("PATCH", path, {}) == later
    begun = await house.data("PATCH", path, {"from": None, "until": None, "reason": None})
    assert begun["from"] < rfc3339(datetime.now(UTC))
    assert (begun["until"], begun["reason"], begun["version"]) == (None, None, 3)
    assert await house.data("PATCH", path, {"from": begun["from"]}) == begun
    assert faults(await house.ask("PATCH", path, {"from": after(HOUR)})) == ["from"]
    assert faults(await house.ask("PATCH", path, {"until": after(-1)})) == ["until"]


async def test_of_two_changes_of_the_same_version_the_second_is_refused(house: Inside) -> None:
    heron = await made(house)
    item = await assign(house, heron["id"], until=after(HOUR))
    path, match = f"/api/user/{heron['id']}/roles/{item['id']}", ("If-Match", '"1"')

    assert (await house.ask("PATCH", path, {"reason": "first"}, match)).header("etag") == '"2"'
    assert (await house.ask("PATCH", path, {"reason": "second"}, match)).status == 412
    assert (await house.ask("DELETE", path, None, match)).status == 412
    assert (await house.ask("DELETE", path, None, ("If-Match", '"2"'))).status == 200


async def test_assignments_of_others_and_unknown_ones_are_not_found(house: Inside) -> None:
    heron, stork = await made(house), await made(house, "stork")
    item = await assign(house, heron["id"])

    for path in (f"/api/user/{stork['id']}/roles/{item['id']}", f"/api/user/{heron['id']}/roles/4711"):
        for method, body in (("GET", None), ("PATCH", {}), ("DELETE", None)):
            assert (await house.ask(method, path, body)).status == 404
    assert (await house.ask("GET", "/api/user/4711/roles")).status == 404
    assert (await house.ask("POST", "/api/user/4711/roles", {"roleCode": "auditor"})).status == 404


async def test_nobody_changes_the_own_roles(house: Inside) -> None:
    (own,) = (await house.data("GET", "/api/user/1/roles"))["items"]
    for method, path, body in (
        ("POST", "/api/user/1/roles", {"roleCode": "auditor"}),
        ("PATCH", f"/api/user/1/roles/{own['id']}", {"reason": "me"}),
        ("DELETE", f"/api/user/1/roles/{own['id']}", None),
    ):
        answer = await house.ask(method, path, body)
        assert (answer.status, answer.json["layer"]) == (409, "account")


async def test_who_lacks_a_code_of_the_role_neither_gives_nor_lengthens_nor_ends_it(house: Inside) -> None:
    heron = await made(house)
    lesser = await caller(house, "stork", "system:user:update", "system:user:detail")
    path = f"/api/user/{heron['id']}/roles"
    answer = await house.ask("POST", path, {"roleCode": "auditor"}, token=lesser)
    assert (answer.status, answer.json["layer"]) == (403, "grant")
    item = await assign(house, heron["id"], **{"from": after(HOUR), "until": after(2 * HOUR)})
    for method, body in (("PATCH", {"until": after(3 * HOUR)}), ("PATCH", {"from": None}), ("DELETE", None)):
        answer = await house.ask(method, f"{path}/{item['id']}", body, token=lesser)
        assert (answer.status, answer.json["layer"]) == (403, "grant")


async def test_who_will_hold_everything_is_not_edited_by_who_does_not(house: Inside) -> None:
    heron = await made(house)
    lesser = await caller(house, "stork", "system:user:update", "system:user:detail")
    path = f"/api/user/{heron['id']}"
    assert (await house.ask("PATCH", path, {"nickName": "H"}, token=lesser)).status == 200
    await assign(house, heron["id"], roleCode="super", **{"from": after(HOUR)})

    answer = await house.ask("PATCH", path, {"nickName": "G"}, token=lesser)
    assert (answer.status, answer.json["layer"]) == (403, "grant")


async def test_the_last_administrator_is_without_an_end(house: Inside) -> None:
    (own,) = (await house.data("GET", "/api/user/1/roles"))["items"]
    heron = await made(house, "heron", role_id(house, "super"))
    token = await house.log_in("heron", "four wary herons")
    answer = await house.ask("PATCH", f"/api/user/1/roles/{own['id']}", {"until": after(HOUR)}, token=token)
    assert answer.status == 200, answer.body
    house.token = await house.log_in()
    (item,) = (await house.data("GET", f"/api/user/{heron['id']}/roles"))["items"]
    path = f"/api/user/{heron['id']}/roles/{item['id']}"
    for method, body in (("PATCH", {"until": after(HOUR / 2)}), ("DELETE", None)):
        answer = await house.ask(method, path, body)
        assert (answer.status, answer.json["rule"]) == (409, "last_administrator")


async def test_all_assignments_are_listed_filtered_and_sorted(house: Inside) -> None:
    heron, stork = await made(house), await made(house, "stork")
    soon = await assign(house, heron["id"], until=after(HOUR))
    late = await assign(house, stork["id"], until=after(9 * HOUR))
    endless = await assign(house, stork["id"], roleCode="user")

    async def ids(query: str) -> list[int]:
        listed = await house.data("GET", f"/api/assignment/list?{query}")
        assert listed["total"] == len(listed["items"])
        return [item["id"] for item in listed["items"]]

    assert await ids(f"userId={stork['id']}&sort=-id") == [endless["id"], late["id"]]
    assert await ids("roleCode=auditor&sort=until") == [soon["id"], late["id"]]
    assert await ids("roleCode=auditor&sort=-userName") == [late["id"], soon["id"]]
    assert await ids(f"endsBefore={after(2 * HOUR)}".replace("+", "%2B")) == [soon["id"]]
    assert endless["id"] in await ids("endless=true&source=direct")
    assert await ids("endless=false&sort=-until") == [late["id"], soon["id"]]
    assert await ids("source=request") == []
    shown = (await house.data("GET", f"/api/assignment/list?userId={heron['id']}"))["items"]
    left_out = {"version", "endTime", "endedBy", "how"}
    assert shown == [{name: value for name, value in soon.items() if name not in left_out}]
    assert (await house.ask("GET", "/api/assignment/list?endsBefore=2099-01-01T00:00:00")).status == 422


async def test_the_operation_log_names_the_role_its_window_and_the_reason(house: Inside) -> None:
    limpkin = await made(house, "limpkin")
    end, later = after(HOUR), after(2 * HOUR)
    item = await assign(house, limpkin["id"], until=end, reason="because")
    await house.data("PATCH", f"/api/user/{limpkin['id']}/roles/{item['id']}", {"until": later})
    await house.ask("DELETE", f"/api/user/{limpkin['id']}/roles/{item['id']}")

    first, second = f"auditor until {end}: because", f"auditor until {later}: because"
    for action, removed, added in (
        ("assign a role", [], [first]),
        ("change an assignment of a role", [first], [second]),
        ("end an assignment of a role", [second], []),
    ):
        change = await logged(house, "user:limpkin", action)
        assert (change["target"], change["field"]) == ("user:limpkin", "roles")
        assert (change["before"], change["after"]) == (removed, added)


async def test_a_dry_run_tells_and_saves_nothing(house: Inside) -> None:
    heron = await made(house)
    path = f"/api/user/{heron['id']}/roles"

    await house.preview("POST", path, {"roleCode": "auditor", "until": after(HOUR)})
    assert (await house.data("GET", path))["total"] == 0
    item = await assign(house, heron["id"], until=after(HOUR))
    await house.preview("PATCH", f"{path}/{item['id']}", {"until": None})
    await house.preview("DELETE", f"{path}/{item['id']}")
    assert (await house.data("GET", path))["items"] == [item]


async def test_a_repeated_key_assigns_once(house: Inside) -> None:
    heron = await made(house)
    path, key = f"/api/user/{heron['id']}/roles", ("Idempotency-Key", "heron-roles-1")

    first = await house.data("POST", path, {"roleCode": "auditor"}, key)
    assert await house.data("POST", path, {"roleCode": "auditor"}, key) == first
    assert (await house.data("GET", path))["items"] == [first]


async def test_the_user_is_told_of_the_role_its_window_and_the_reason(house: Inside) -> None:
    heron = await made(house)
    end = after(HOUR)
    item = await assign(house, heron["id"], **{"from": after(60), "until": end, "reason": "because"})
    await house.data("PATCH", f"/api/user/{heron['id']}/roles/{item['id']}", {"reason": None})

    token = await house.log_in("heron", "four wary herons")
    answer = await house.ask("GET", "/api/user/profile/notices", token=token)
    assert answer.status == 200, answer.body
    facts = [each["facts"] for each in answer.json["data"]["items"] if each["kind"] == "roles_changed"]
    assert facts == [
        {"changedRoles": ["auditor"], "from": item["from"], "until": end},
        {"givenRoles": ["auditor"], "from": item["from"], "until": end, "reason": "because"},
    ]


async def test_an_assignment_is_not_lengthened_beyond_what_its_role_allows_from_its_beginning(
    house: Inside,
) -> None:
    heron, role = await made(house), role_id(house, "auditor")
    await house.data("PATCH", f"/api/role/{role}", {"maxDuration": 7200})
    item = await assign(house, heron["id"], until=after(HOUR))
    earlier = "UPDATE sys.user_role SET create_time = create_time - interval '30 min' WHERE id = %s"
    execute(house, earlier, item["id"])
    path = f"/api/user/{heron['id']}/roles/{item['id']}"

    assert faults(await house.ask("PATCH", path, {"until": after(1.75 * HOUR)})) == ["until"]
    assert (await house.ask("PATCH", path, {"until": after(1.25 * HOUR)})).status == 200


async def test_no_window_is_stored_while_a_node_would_not_see_its_end(house: Inside) -> None:
    heron = await made(house)
    execute(
        house,
        "INSERT INTO sys.policy_worker (worker, revision, facts) VALUES ('older:1', 1,"
        """ '{"version": "0.2.0", "settings": {}, "parts": {}, "layers": ["assurance"]}')""",
    )
    refused = [
        await house.ask("POST", f"/api/user/{heron['id']}/roles", {"roleCode": "auditor"} | window)
        for window in ({"until": after(HOUR)}, {"from": after(HOUR)})
    ]
    endless = await assign(house, heron["id"])
    execute(house, "DELETE FROM sys.policy_worker WHERE worker = 'older:1'")

    assert [(answer.status, answer.json["rule"]) for answer in refused] == [(409, "older_nodes")] * 2
    assert endless["until"] is None
