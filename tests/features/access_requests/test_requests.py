"""Asking for a role and deciding about it: each rule by plain HTTP."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from service.kernel.clock import rfc3339
from tests.roles.test_request_rules import RULE, path, role
from tests.support.inside import Inside
from tests.support.members import Member, member, query, until_row
from tests.support.running import portcullis
from tests.web.driver import Answer

ONE: dict[str, Any] = {"code": "system:user:list", "approvals": 1}
ASKED = "/api/access-request"
REASON = "The books of this month"
SECRET = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"


def after(seconds: float) -> str:
    return rfc3339(datetime.now(UTC) + timedelta(seconds=seconds))


async def ruled(house: Inside, *codes: str, **changes: Any) -> int:
    """Make the role ``heron``, which gives ``codes``, with a rule; return its id."""
    number = await role(house, *codes)
    await house.data("PUT", path(number), RULE | {"stages": [ONE], **changes})
    return number


async def ask(person: Member, **body: Any) -> Answer:
    return await person.ask("POST", ASKED, {"roleCode": "heron", "duration": 600, "reason": REASON} | body)


async def asked(person: Member, **body: Any) -> Any:
    answer = await ask(person, **body)
    assert answer.status == 201, answer.body
    return answer.json["data"]


async def decide(person: Member, request: Any, decision: str = "approve", **body: Any) -> Answer:
    target = f"{ASKED}/{request['id']}/decision"
    return await person.ask("POST", target, {"decision": decision, "reason": "As agreed"} | body)


async def state(house: Inside, request: Any) -> str:
    shown: str = (await house.data("GET", f"{ASKED}/{request['id']}"))["state"]
    return shown


async def execute(house: Inside, statement: str, *values: object) -> None:
    await query(house, statement, *values)


async def test_a_role_is_given_when_another_person_has_approved_and_no_longer_than_asked(
    house: Inside, tmp_path: Path
) -> None:
    number = await ruled(house, "system:file:list")
    heron, kestrel = (
        await member(house, "heron-1"),
        await member(house, "kestrel", "system:user:list", "system:file:list"),
    )
    request = await asked(heron)
    assert (request["state"], request["roleId"], request["userName"]) == ("pending", number, "heron-1")
    assert (request["stages"][0]["counted"], request["decisions"], request["assignmentId"]) == (0, [], None)
    assert "system:file:list" not in await heron.held()

    begun = datetime.now(UTC)
    approved = (await decide(kestrel, request)).json["data"]

    assert (approved["state"], approved["endedBy"], approved["stages"][0]["counted"]) == (
        "approved",
        "kestrel",
        1,
    )
    assert "system:file:list" in await heron.held()
    (given,) = [
        item
        for item in (await house.data("GET", f"/api/user/{heron.user_id}/roles"))["items"]
        if item["roleCode"] == "heron"
    ]
    assert (given["id"], given["source"], given["reason"]) == (approved["assignmentId"], "request", REASON)
    assert (given["accessRequestId"], given["approvedBy"]) == (request["id"], ["kestrel"])
    question = {"userName": "heron-1", "permission": "system:file:list"}
    explained = await house.data("POST", "/api/policy/explain", question)
    (origin,) = explained["permission"]["fired"][0]["origins"]
    assert (origin["accessRequestId"], origin["approvedBy"]) == (request["id"], ["kestrel"])
    variables = {"DATABASE_URL": house.database_url, "REDIS_URL": house.redis_url, "JWT_SECRET": SECRET}
    words = ("policy", "explain", "heron-1", "PERMISSION", "system:file:list")
    printed = (await asyncio.to_thread(portcullis, tmp_path, *words, **variables)).output
    assert f"request {request['id']}, approved by kestrel" in printed
    lasts = datetime.fromisoformat(given["until"]) - begun
    assert timedelta(seconds=590) < lasts < timedelta(seconds=620)


async def test_nobody_approves_their_own_request_whatever_they_hold(house: Inside) -> None:
    await ruled(house)
    everything = await member(house, "everything", "*")
    request = await asked(everything)

    refused = await decide(everything, request)

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (403, "approve", [])
    assert refused.json["detail"] == "You are not allowed to decide about this request: it is your own"
    assert await state(house, request) == "pending"


async def test_who_holds_no_code_of_a_stage_sees_no_request(house: Inside) -> None:
    await ruled(house)
    heron, raven = await member(house, "heron-1"), await member(house, "raven", "system:file:list")
    request = await asked(heron)

    answers = [await decide(raven, request), await raven.ask("GET", f"{ASKED}/{request['id']}")]

    assert [answer.status for answer in answers] == [404, 404]
    assert (await raven.ask("GET", f"{ASKED}/list")).json["data"]["total"] == 0
    assert (await heron.ask("GET", f"{ASKED}/list")).json["data"]["total"] == 1


async def test_who_can_not_grant_the_codes_of_the_role_approves_only_where_the_rule_says_so(
    house: Inside,
) -> None:
    number = await ruled(house, "system:file:list")
    heron, clerk = await member(house, "heron-1"), await member(house, "clerk", "system:user:list")
    first = await asked(heron)

    refused = await decide(clerk, first)
    await house.data("PUT", path(number), RULE | {"stages": [ONE], "grantNeeded": False})
    second = await asked(heron)
    allowed = await decide(clerk, second)

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (
        403,
        "grant",
        ["system:file:list"],
    )
    assert (allowed.status, allowed.json["data"]["state"]) == (200, "approved")
    assert await state(house, first) == "failed"


async def test_each_stage_takes_different_people_and_one_person_counts_once(house: Inside) -> None:
    stages = [{"code": "system:user:list", "approvals": 2}, {"code": "system:role:list", "approvals": 1}]
    await ruled(house, stages=stages)
    heron = await member(house, "heron-1")
    both = await member(house, "both", "system:user:list", "system:role:list")
    first, second = (
        await member(house, "first", "system:user:list"),
        await member(house, "second", "system:user:list"),
    )
    request = await asked(heron)

    states = []
    for person in (both, both, first, second):
        answer = await decide(person, request)
        assert answer.status == 200
        states.append(answer.json["data"]["state"])

    assert states == ["pending", "pending", "pending", "approved"]
    shown = await house.data("GET", f"{ASKED}/{request['id']}")
    assert [stage["counted"] for stage in shown["stages"]] == [2, 1]
    assert [decision["userName"] for decision in shown["decisions"]] == ["both", "first", "second"]


async def test_who_decides_about_a_role_sees_no_request_for_a_deleted_one_of_its_code(house: Inside) -> None:
    former = await ruled(house)
    heron, kestrel = await member(house, "heron-1"), await member(house, "kestrel", "system:user:list")
    request = await asked(heron)
    assert (await kestrel.ask("GET", f"{ASKED}/{request['id']}")).status == 200
    await house.data("DELETE", f"/api/role/{former}")
    await ruled(house)
    other = await asked(heron)

    seen = (await kestrel.ask("GET", f"{ASKED}/list")).json["data"]["items"]
    answers = [await person.ask("GET", f"{ASKED}/{request['id']}") for person in (kestrel, heron)]

    assert [each["id"] for each in seen] == [other["id"]]
    assert [answer.status for answer in answers] == [404, 200]


async def test_one_denial_ends_a_request_for_ever(house: Inside) -> None:
    await ruled(house, stages=[ONE | {"approvals": 2}])
    heron = await member(house, "heron-1")
    people = [await member(house, name, "system:user:list") for name in ("first", "second", "third")]
    request = await asked(heron)

    answers = [
        await decide(people[0], request),
        await decide(people[1], request, "deny"),
        await decide(people[2], request),
    ]

    assert [answer.status for answer in answers] == [200, 200, 409]
    assert answers[1].json["data"]["state"] == "denied"
    assert (await heron.ask("DELETE", f"{ASKED}/{request['id']}")).status == 409
    assert await state(house, request) == "denied"


async def test_an_approval_counts_no_more_once_its_giver_has_lost_the_code(house: Inside) -> None:
    await ruled(house, stages=[ONE | {"approvals": 2}])
    heron = await member(house, "heron-1")
    first, second, third = [
        await member(house, name, "system:user:list") for name in ("first", "second", "third")
    ]
    request = await asked(heron)
    await decide(first, request)
    await execute(house, "DELETE FROM sys.user_role WHERE user_id = %s", first.user_id)

    waiting = await decide(second, request)
    passed = await decide(third, request)

    assert waiting.json["data"]["state"] == "pending"
    assert passed.json["data"]["state"] == "approved"


@pytest.mark.parametrize("by", ["another approval", "the same person"])
async def test_an_approval_moves_to_a_stage_that_its_giver_can_decide_later(house: Inside, by: str) -> None:
    stages = [ONE, {"code": "system:role:list", "approvals": 1}]
    await ruled(house, stages=stages)
    heron, other = await member(house, "heron-1"), await member(house, "other", "system:role:list")
    first, second = [await member(house, name, "system:user:list") for name in ("first", "second")]
    request = await asked(heron)
    gain = "INSERT INTO sys.user_role (user_id, role_id) VALUES (%s, %s)"
    await decide(first, request)
    if by == "another approval":
        await execute(house, gain, first.user_id, other.role_id)
        passed = await decide(second, request)
    else:
        await decide(second, request)
        await execute(house, gain, first.user_id, other.role_id)
        assert await state(house, request) == "pending"
        passed = await decide(await first.log_in(), request)

    assert passed.status == 200, passed.body
    shown = passed.json["data"]
    assert (shown["state"], [stage["counted"] for stage in shown["stages"]]) == ("approved", [1, 1])


async def test_an_approval_may_shorten_and_never_lengthen(house: Inside) -> None:
    await ruled(house, stages=[ONE | {"approvals": 2}])
    heron = await member(house, "heron-1")
    first, second = [await member(house, name, "system:user:list") for name in ("first", "second")]
    request = await asked(heron)

    longer = await decide(first, request, until=after(700))
    past = await decide(first, request, until=after(-1))
    end = after(60)
    await decide(first, request, until=end)
    approved = await decide(second, request)

    assert [(answer.status, answer.fields) for answer in (longer, past)] == [(422, ["until"])] * 2
    given = await house.data(
        "GET", f"/api/user/{heron.user_id}/roles/{approved.json['data']['assignmentId']}"
    )
    assert given["until"] == end


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"duration": 3601}, "duration"),
    ({"duration": None}, "duration"),
    ({"until": "2099-01-01T00:00:00Z"}, "duration"),
    ({"duration": None, "until": "2099-01-01T00:00:00Z"}, "until"),
    ({"duration": None, "until": "2020-01-01T00:00:00Z"}, "until"),
    ({"reason": " "}, "reason"),
    ({"roleCode": "auditor"}, "roleCode"),
    ({"roleCode": None}, "roleId"),
    ({"roleId": 1}, "roleId"),
]


async def test_what_breaks_the_rule_is_refused_with_its_field(house: Inside) -> None:
    await ruled(house, reasonRequired=True)
    heron = await member(house, "heron-1")

    for body, field in FAULTS:
        answer = await ask(heron, **body)
        assert (answer.status, answer.fields) == (422, [field]), body


async def test_who_may_not_ask_is_denied_by_the_layer_request(house: Inside) -> None:
    await ruled(house, requestableBy="system:role:list")
    heron, holder = await member(house, "heron-1"), await member(house, "holder", "system:role:list")

    refused = await ask(heron)

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (
        403,
        "request",
        ["system:role:list"],
    )
    assert (await ask(holder)).status == 201


async def test_what_is_demanded_of_who_asks_is_demanded(house: Inside) -> None:
    await ruled(house, assurance="two-factors")
    heron = await member(house, "heron-1")

    answer = await ask(heron)

    assert (answer.status, answer.code) == (401, "insufficient_user_authentication")


async def test_a_second_pending_request_for_a_role_is_refused_until_the_first_has_ended(
    house: Inside,
) -> None:
    await ruled(house)
    heron = await member(house, "heron-1")
    request = await asked(heron)

    second = await ask(heron)
    withdrawn = await heron.ask("DELETE", f"{ASKED}/{request['id']}")

    assert (second.status, second.json["accessRequestId"], withdrawn.status) == (409, request["id"], 200)
    assert (await state(house, request), (await ask(heron)).status) == ("cancelled", 201)


async def test_only_its_author_withdraws_a_request(house: Inside) -> None:
    await ruled(house)
    heron, kestrel = await member(house, "heron-1"), await member(house, "kestrel", "system:user:list")
    request = await asked(heron)

    answer = await kestrel.ask("DELETE", f"{ASKED}/{request['id']}")

    assert (answer.status, await state(house, request)) == (404, "pending")


async def test_a_request_expires_at_its_deadline(house: Inside) -> None:
    await ruled(house)
    heron, kestrel = await member(house, "heron-1"), await member(house, "kestrel", "system:user:list")
    request = await asked(heron)
    await execute(house, "UPDATE sys.access_request SET deadline = now() - interval '1 second'")

    late = await decide(kestrel, request)

    assert (late.status, await state(house, request)) == (409, "expired")


@pytest.mark.parametrize("act", ["rule", "no rule", "disable role", "disable", "ban", "delete"])
async def test_a_request_fails_when_its_rule_its_role_or_its_author_goes(house: Inside, act: str) -> None:
    number = await ruled(house)
    heron, kestrel = await member(house, "heron-1"), await member(house, "kestrel", "system:user:list")
    request = await asked(heron)

    match act:
        case "rule":
            await house.data("PUT", path(number), RULE)
        case "no rule":
            await house.data("DELETE", path(number))
        case "disable role":
            await house.data("PATCH", f"/api/role/{number}", {"enabled": False})
        case "disable":
            await house.data("PUT", f"/api/user/{heron.user_id}/status", {"status": "disabled"})
        case "ban":
            await house.data("POST", f"/api/online/{heron.user_id}/ban", {"reason": "x", "seconds": 60})
        case "delete":
            await house.data("DELETE", f"/api/user/{heron.user_id}")

    late = await decide(kestrel, request)
    assert late.status in (404, 409)
    assert await state(house, request) == "failed"


async def test_a_dry_run_asks_for_nothing(house: Inside) -> None:
    await ruled(house)
    heron = await member(house, "heron-1")

    answer = await heron.ask("POST", f"{ASKED}?dryRun=true", {"roleCode": "heron", "duration": 600})

    assert answer.status == 200
    assert (await heron.ask("GET", f"{ASKED}/list")).json["data"]["total"] == 0


async def outcomes(answers: Sequence[Answer]) -> list[int]:
    return sorted(answer.status for answer in answers)


async def test_of_two_approvals_at_once_one_gives_the_role_and_both_are_recorded(house: Inside) -> None:
    await ruled(house, stages=[ONE | {"approvals": 2}])
    heron = await member(house, "heron-1")
    first, second = [await member(house, name, "system:user:list") for name in ("first", "second")]
    for _ in range(5):
        request = await asked(await heron.log_in())
        answers = await asyncio.gather(decide(first, request), decide(second, request))
        shown = await house.data("GET", f"{ASKED}/{request['id']}")
        assert [answer.status for answer in answers] == [200, 200]
        assert (shown["state"], len(shown["decisions"])) == ("approved", 2)


async def test_an_approval_against_a_withdrawal_ends_in_exactly_one_of_them(house: Inside) -> None:
    await ruled(house)
    heron, kestrel = await member(house, "heron-1"), await member(house, "kestrel", "system:user:list")
    for _ in range(8):
        request = await asked(await heron.log_in())
        target = f"{ASKED}/{request['id']}"
        approval, withdrawal = await asyncio.gather(decide(kestrel, request), heron.ask("DELETE", target))
        ended = (await house.data("GET", target))["state"]
        assert (approval.status, withdrawal.status, ended) in [
            (200, 409, "approved"),
            (409, 200, "cancelled"),
        ]


async def test_an_approval_against_a_ban_of_the_author_ends_in_exactly_one_of_them(house: Inside) -> None:
    await ruled(house)
    kestrel = await member(house, "kestrel", "system:user:list")
    for number in range(5):
        heron = await member(house, f"heron-{number}")
        request = await asked(heron)
        ban = house.ask("POST", f"/api/online/{heron.user_id}/ban", {"reason": "x", "seconds": 60})
        approval, banned = await asyncio.gather(decide(kestrel, request), ban)
        ended = await state(house, request)
        assert banned.status == 200
        assert (approval.status, ended) in [(200, "approved"), (409, "failed"), (200, "failed")]


async def test_what_was_approved_is_ended_earlier_and_never_later(house: Inside) -> None:
    await ruled(house)
    heron, kestrel = await member(house, "heron-1"), await member(house, "kestrel", "system:user:list")
    request = await asked(heron, duration=None, until=after(600))
    given = (await decide(kestrel, request)).json["data"]["assignmentId"]
    target = f"/api/user/{heron.user_id}/roles/{given}"

    longer = [await house.ask("PATCH", target, {"until": until}) for until in (after(900), None)]
    begun = await house.ask("PATCH", target, {"from": after(60)})
    shorter = await house.ask("PATCH", target, {"until": after(60)})

    assert [(answer.status, answer.fields) for answer in longer] == [(422, ["until"])] * 2
    assert (begun.status, begun.fields, shorter.status) == (422, ["from"], 200)


async def test_in_an_emergency_nobody_gets_the_role_who_has_not_proved_what_is_demanded(
    house: Inside,
) -> None:
    await ruled(house, emergency=True, assurance="two-factors")
    heron = await member(house, "heron-1")

    weak = await ask(heron)

    assert (weak.status, weak.code) == (401, "insufficient_user_authentication")
    assert (await heron.ask("GET", f"{ASKED}/list")).json["data"]["total"] == 0


async def test_an_account_that_its_author_made_approves_nothing_in_their_place(house: Inside) -> None:
    await ruled(house)
    author = await member(house, "author", "*")
    body = {
        "userName": "second",
        "nickName": "Second",
        "password": "a password of nobody 71",
        "roleIds": [author.role_id],
    }
    assert (await author.ask("POST", "/api/user", body)).status == 201
    await execute(
        house,
        "UPDATE sys.user SET password_initial = NULL, password_hash = (SELECT password_hash FROM sys.user"
        " WHERE id = 1) WHERE user_name = 'second'",
    )
    second = Member(house, 0, 0, "second")
    await second.log_in()
    request = await asked(await author.log_in())

    refused = await decide(second, request)

    assert (refused.status, refused.json["layer"]) == (403, "approve")
    assert await state(house, request) == "pending"


async def test_a_rule_that_is_put_as_it_is_ends_no_request_and_the_end_by_another_one_is_logged(
    house: Inside,
) -> None:
    number = await ruled(house)
    request = await asked(await member(house, "heron-1"))

    await house.data("PUT", path(number), RULE | {"stages": [ONE]})
    assert await state(house, request) == "pending"
    changed = await house.ask("PUT", path(number), RULE | {"stages": [ONE], "maxDuration": 60})

    assert (changed.status, await state(house, request)) == (200, "failed")
    field = f"accessRequest {request['id']}"
    entry = (
        "SELECT each ->> 'after' FROM sys.operation_log, jsonb_array_elements(changes) AS each"
        f" WHERE each ->> 'field' = '{field}' AND action = 'set how it is asked for'"
    )
    await until_row(house, entry, ('["failed: The rule of the role has changed"]',))
