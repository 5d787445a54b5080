"""Who reads what of the logs."""

import asyncio
import json
from typing import Any

from tests.log_reading.entries import at, logins, operations, person
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import member

GUARDED = {
    "/api/operation-log/list": "system:operation-log:list",
    "/api/operation-log/1": "system:operation-log:detail",
    "/api/operation-log/changes?ids=1": "system:operation-log:detail",
    "/api/operation-log/export": "system:operation-log:export",
    "/api/login-log/list": "system:login-log:list",
    "/api/login-log/export": "system:login-log:export",
}


async def statuses(service: Inside, token: str) -> dict[str, int]:
    answers = {path: await service.ask("GET", path, token=token) for path in GUARDED}
    for path, answer in answers.items():
        if answer.status == 403:
            assert answer.json["required"] == [GUARDED[path]]
    return {path: answer.status for path, answer in answers.items()}


async def test_logs_are_read_by_those_who_hold_the_code_of_the_way_they_read_them(service: Inside) -> None:
    (first,) = await operations(service.database_url, {})
    await person(service.database_url, "nobody")
    await person(service.database_url, "reader", "auditor")
    lister = await member(service, "lister", *{code for code in GUARDED.values() if "export" not in code})

    nothing = await statuses(service, await service.log_in("nobody"))
    auditor = await statuses(service, await service.log_in("reader"))

    assert first == 1
    assert set(nothing.values()) == {403}
    assert auditor == dict.fromkeys(GUARDED, 200)
    assert await statuses(service, lister.token) == {
        path: 403 if path.endswith("export") else 200 for path in GUARDED
    }


async def own(service: Inside, token: str, query: str = "") -> list[Any]:
    answer = await service.ask("GET", f"/api/user/profile/login-logs{query}", token=token)
    assert answer.status == 200, answer.body
    items: list[Any] = answer.json["data"]["items"]
    return items


async def test_everybody_reads_their_own_logins_and_nobody_elses(shared: Inside) -> None:
    alice, bob = await person(shared.database_url, "alice"), await person(shared.database_url, "bob")
    entries: list[dict[str, Any]] = [
        {"user_id": alice, "user_name": "alice", "device": "web"},
        {"user_id": bob, "user_name": "bob"},
        {"user_id": None, "user_name": "alice", "outcome": "failure"},  # somebody typed that name
        {"user_id": alice, "user_name": "alice", "event": "kick", "device": "ios"},
        {"user_id": alice, "user_name": "alice", "outcome": "failure", "reason": "login_failed"},
    ]
    written = await logins(
        shared.database_url, *({"create_time": at(-9_999 + n)} | fields for n, fields in enumerate(entries))
    )
    as_alice, as_bob = await shared.log_in("alice"), await shared.log_in("bob")

    def numbers(items: list[Any]) -> list[int]:
        return [written.index(item["id"]) for item in items if item["id"] in written]

    everything = await own(shared, as_alice)
    assert numbers(everything) == [4, 3, 0]
    assert {item["userId"] for item in everything} == {alice}
    assert numbers(await own(shared, as_bob)) == [1]
    assert numbers(await own(shared, as_alice, "?event=kick")) == [3]
    assert numbers(await own(shared, as_alice, "?device=web&sort=createTime&to=2026-11-21T02:00:00Z")) == [0]
    assert numbers(await own(shared, as_alice, "?outcome=failure")) == [4]


async def test_a_cursor_of_somebody_else_shows_nothing_of_theirs(shared: Inside) -> None:
    carol, dave = await person(shared.database_url, "carol"), await person(shared.database_url, "dave")
    await logins(shared.database_url, *({"user_id": user_id} for user_id in (carol, dave, carol, dave, dave)))

    answer = await shared.ask("GET", "/api/user/profile/login-logs?size=1", token=await shared.log_in("dave"))
    cursor = answer.json["data"]["nextCursor"]
    items = await own(shared, await shared.log_in("carol"), f"?cursor={cursor}")

    assert {item["userId"] for item in items} <= {carol}


async def eventually(service: Inside, target: str, count: int, token: str | None = None) -> list[Any]:
    """Return the entries of a list once there are ``count`` of them, as they are written a moment later."""
    for _ in range(500):
        answer = await service.ask("GET", target, token=token)
        items: list[Any] = answer.json["data"]["items"]
        if len(items) >= count:
            return items
        await asyncio.sleep(0.02)
    raise AssertionError(f"{target} has {len(items)} entries, not {count}")


async def test_a_login_is_seen_by_the_user_who_logged_in(shared: Inside) -> None:
    erin = await person(shared.database_url, "erin")
    token = await shared.log_in("erin")

    (entry,) = await eventually(shared, "/api/user/profile/login-logs", 1, token)

    assert (entry["event"], entry["outcome"], entry["userId"]) == ("login", "success", erin)
    assert entry["loginIp"] == "192.0.2.7"


async def test_exports_of_a_log_and_attempts_at_them_are_logged(service: Inside) -> None:
    reader = await person(service.database_url, "reader")
    for token in (await service.log_in("reader"), None):
        await service.ask("GET", "/api/login-log/export?userName=x&limit=7", token=token)

    items = await eventually(service, "/api/operation-log/list?kind=EXPORT&sort=createTime", 2)

    refused, allowed = items
    assert (refused["userId"], refused["status"], refused["decision"]) == (reader, 403, "deny")
    assert (allowed["userId"], allowed["status"], allowed["decision"]) == (1, 200, "allow")
    assert (allowed["module"], allowed["query"]) == ("login-log", "userName=x&limit=7")
    detail = await service.data("GET", f"/api/operation-log/{allowed['id']}")
    assert detail["response"] is None


async def test_own_logins_need_a_login(shared: Inside) -> None:
    assert (await shared.as_anonymous("GET", "/api/user/profile/login-logs")).status == 401


async def test_a_list_has_nothing_of_what_was_sent_and_answered_and_the_detail_has_it(
    shared: Inside,
) -> None:
    params = {"roleName": "R\u00f6le", "menuIds": [1, 2**63], "deep": [{"a": None}], "part": 0.25}
    entry = {"params": params, "response": [1, "x"], "error": "conflict", "query": "a=b", "status": 409}
    (written,) = await operations(shared.database_url, entry | {"module": "told"})

    listed = (await shared.data("GET", "/api/operation-log/list?module=told"))["items"][0]
    exported = await shared.ask("GET", "/api/operation-log/export?module=told&format=jsonl")
    detail = await shared.data("GET", f"/api/operation-log/{written}")

    assert not {"params", "response", "changes"} & listed.keys()
    assert json.loads(exported.body) == listed | {"changes": None}
    assert (detail.pop("params"), detail.pop("response")) == (params, [1, "x"])
    assert detail == listed | {"changes": None}
    assert (listed["createTime"], listed["status"], listed["error"]) == (
        "2026-11-21T02:33:53.123Z",
        409,
        "conflict",
    )


async def test_what_was_not_kept_is_null(shared: Inside) -> None:
    (written,) = await operations(shared.database_url, {})
    detail = await shared.data("GET", f"/api/operation-log/{written}")
    assert [name for name, value in detail.items() if value is None] == [
        "requestId",
        "userId",
        "userName",
        "device",
        "query",
        "clientIp",
        "userAgent",
        "error",
        "decision",
        "decisionId",
        "policyRevision",
        "targets",
        "changeCount",
        "traceId",
        "repetitions",
        "changes",
        "params",
        "response",
    ]


@with_each(
    ("entry", "status"),
    [("999999", 404), ("0", 422), ("x", 422), ("-1", 422), ("01", 422), ("9223372036854775808", 422)],
)
async def test_an_entry_that_is_not_there_is_not_found(shared: Inside, entry: str, status: int) -> None:
    assert (await shared.ask("GET", f"/api/operation-log/{entry}")).status == status
