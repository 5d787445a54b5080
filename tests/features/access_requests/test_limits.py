"""What a request gives is within every limit, and is seen by those whom it concerns."""

from typing import Any

import pytest
from sqlalchemy import Engine, event

from service.features.access_requests import store as access_requests
from tests.features.access_requests.test_requests import (
    ASKED,
    ONE,
    after,
    ask,
    asked,
    decide,
    execute,
    ruled,
    state,
)
from tests.support.inside import Inside
from tests.support.members import Member, member, query
from tests.support.standing_behind import acted

ROLES: dict[str, Any] = {"code": "system:role:list", "approvals": 1}


async def people(house: Inside) -> tuple[Member, Member]:
    """Return who asks and who approves."""
    return await member(house, "heron-1"), await member(house, "kestrel", "system:user:list")


async def test_a_rule_without_grants_shows_requests_to_those_who_decide_alone(house: Inside) -> None:
    await ruled(house, "system:file:list", grantNeeded=False)
    heron, raven = await member(house, "heron-1"), await member(house, "raven", "system:file:list")
    request = await asked(heron)

    answers = [await raven.ask("GET", f"{ASKED}/{request['id']}"), await decide(raven, request)]

    assert [answer.status for answer in answers] == [404, 404]
    assert (await raven.ask("GET", f"{ASKED}/list")).json["data"]["total"] == 0


async def test_a_request_for_what_its_author_was_given_already_fails(house: Inside) -> None:
    await ruled(house)
    heron, kestrel = await people(house)
    times = {"duration": None, "until": after(600)}
    first = await decide(kestrel, await asked(heron, **times))

    second = await decide(kestrel, await asked(await heron.log_in(), **times))

    assert [answer.json["data"]["state"] for answer in (first, second)] == ["approved", "failed"]


async def test_a_role_is_given_no_longer_than_each_approval_lets_also_beyond_those_needed(
    house: Inside,
) -> None:
    await ruled(house, stages=[ONE, ROLES])
    heron, kestrel = await people(house)
    crane = await member(house, "crane", "system:user:list")
    raven = await member(house, "raven", "system:role:list")
    request, end = await asked(heron), after(60)

    await decide(kestrel, request)
    await decide(crane, request, until=end)
    approved = (await decide(raven, request)).json["data"]

    path = f"/api/user/{heron.user_id}/roles/{approved['assignmentId']}"
    assert (await house.data("GET", path))["until"] == end


async def test_what_was_approved_may_be_shortened_and_not_lengthened(house: Inside) -> None:
    await ruled(house)
    heron, kestrel = await people(house)
    approved = (await decide(kestrel, await asked(heron))).json["data"]
    path = f"/api/user/{heron.user_id}/roles/{approved['assignmentId']}"

    longer = [await house.ask("PATCH", path, {"until": until}) for until in (None, after(700))]
    shorter = await house.ask("PATCH", path, {"until": after(60)})

    assert [(answer.status, answer.fields) for answer in longer] == [(422, ["until"])] * 2
    assert shorter.status == 200
    assert (await house.ask("DELETE", path)).status == 200


async def test_what_the_role_demands_of_assignments_is_demanded_of_who_asks(house: Inside) -> None:
    number = await ruled(house, reasonRequired=False)
    await house.data("PATCH", f"/api/role/{number}", {"reasonRequired": True, "maxDuration": 60})
    heron, _ = await people(house)

    answer = await ask(heron, reason=None)

    assert (answer.status, sorted(answer.fields)) == (422, ["reason", "until"])


async def test_an_account_that_the_author_made_approves_nothing_in_the_authors_place(house: Inside) -> None:
    await ruled(house)
    heron, kestrel = await people(house)
    await acted(house, heron.user_id, kestrel.user_id, "made")
    request = await asked(heron)

    refused = await decide(kestrel, request)

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (403, "approve", [])
    assert await state(house, request) == "pending"


async def test_an_approval_counts_no_more_once_its_giver_has_a_password_of_the_author(house: Inside) -> None:
    await ruled(house, stages=[ONE | {"approvals": 2}])
    _, kestrel = await people(house)
    author, crane = await member(house, "author", "*"), await member(house, "crane", "system:user:list")
    request = await asked(author)
    await decide(kestrel, request)

    password = {"newPassword": "Tr0ub4dor-and-heron"}
    assert (await author.ask("PUT", f"/api/user/{kestrel.user_id}/password", password)).status == 200
    waiting = await decide(crane, request)

    assert (waiting.status, waiting.json["data"]["state"]) == (200, "pending")


async def test_who_lists_access_requests_reads_those_of_all_and_decides_none(house: Inside) -> None:
    await ruled(house)
    heron, reader = (
        await member(house, "heron-1"),
        await member(house, "reader", "system:access-request:list"),
    )
    detail = await member(house, "detail", "system:user:detail")
    request = await asked(heron)

    seen = [(await who.ask("GET", f"{ASKED}/{request['id']}")).status for who in (reader, detail)]
    refused = await decide(reader, request)

    assert seen == [200, 404]
    assert (refused.status, refused.json["layer"]) == (403, "approve")


async def test_from_and_until_of_what_was_approved_are_those_of_the_assignment(house: Inside) -> None:
    await ruled(house)
    heron, kestrel = await people(house)
    request, end = await asked(heron), after(60)

    approved = (await decide(kestrel, request, until=end)).json["data"]

    assert (request["from"], request["until"]) == (None, None)
    assert (approved["until"], approved["duration"]) == (end, request["duration"])
    assert approved["from"] == approved["endTime"]


async def test_an_author_asks_twenty_times_an_hour_whatever_becomes_of_it(house: Inside) -> None:
    await ruled(house)
    heron, _ = await people(house)
    for _ in range(access_requests.MOST_IN_AN_HOUR):
        request = await asked(heron)
        assert (await heron.ask("DELETE", f"{ASKED}/{request['id']}")).status == 200

    refused = await ask(heron)

    assert (refused.status, refused.json["rule"]) == (409, "limit")


async def test_an_author_has_at_most_twenty_pending_requests(house: Inside) -> None:
    await ruled(house)
    heron, _ = await people(house)
    await execute(
        house,
        "INSERT INTO sys.access_request (user_id, user_name, role_id, role_code, duration,"
        " asked_decision_id, stage_codes, stage_approvals, grant_needed, create_time, deadline)"
        " SELECT %s, 'heron-1', 1000000 + n, 'r' || n, 60, 'd', '{a}', '{1}', true,"
        " now() - interval '1 day', now() + interval '1 day' FROM generate_series(1, %s) n",
        heron.user_id,
        access_requests.MOST_PENDING,
    )

    refused = await ask(heron)
    await execute(house, "DELETE FROM sys.access_request WHERE role_code = 'r1'")

    assert (refused.status, refused.json["rule"]) == (409, "limit")
    assert (await ask(heron)).status == 201


async def test_many_approvers_with_different_codes_cost_few_statements(house: Inside) -> None:
    await ruled(house, "system:file:list")
    heron = await member(house, "heron-1")
    codes = ["system:role:list", "system:menu:list", "system:file:list"]
    for number in range(8):
        more = [code for place, code in enumerate(codes) if number >> place & 1]
        await member(house, f"kestrel-{number}", "system:user:list", *more)
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_others: Any) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        request = await asked(heron)
    finally:
        event.remove(Engine, "before_cursor_execute", note)

    notices = (
        "SELECT count(*) FROM sys.notice WHERE kind = 'access_request_made' AND facts ->> 'request' = %s"
    )
    assert await query(house, notices, str(request["id"])) == [
        (5,)
    ]  # the administrator, and four who can grant the role
    assert sum("DISTINCT" in each and "role_menu" in each for each in statements) < 7


@pytest.mark.parametrize("field", ["reason", "ticket", "decisionId"])
async def test_those_who_decide_can_see_all_that_a_request_says(house: Inside, field: str) -> None:
    await ruled(house)
    heron, _ = await people(house)

    answer = await ask(heron, **{field: "paid\u202edaily"})

    assert (answer.status, answer.fields) == (422, [field])


@pytest.mark.parametrize("reason", [" \n", "agreed\u202e"])
async def test_a_decision_says_why_in_characters_that_can_be_seen(house: Inside, reason: str) -> None:
    await ruled(house)
    heron, kestrel = await people(house)
    request = await asked(heron)

    answer = await decide(kestrel, request, reason=reason)

    assert (answer.status, answer.fields, await state(house, request)) == (422, ["reason"], "pending")


async def emergencies(house: Inside, author: Member) -> None:
    """Write as many emergencies of the author, which gave nothing, as there may be within an hour."""
    written = (
        "INSERT INTO sys.access_request (user_id, user_name, role_id, role_code, duration, emergency, state,"
        " end_time, asked_decision_id, stage_codes, stage_approvals, grant_needed, create_time, deadline)"
        " SELECT %s, 'a', 1000000, 'r', 60, true, 'failed', now(), 'd', '{a}', '{1}', true, now(), now()"
        " FROM generate_series(1, %s)"
    )
    await execute(house, written, author.user_id, access_requests.MOST_IN_AN_HOUR)


async def test_emergencies_do_not_count_among_other_requests(house: Inside) -> None:
    await ruled(house)
    heron, _ = await people(house)
    await emergencies(house, heron)

    assert (await ask(heron)).status == 201
