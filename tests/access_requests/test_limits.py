"""What a request gives is within every limit, and is seen by those whom it concerns."""

from __future__ import annotations

from typing import Any

import pytest

from tests.access_requests.test_requests import ASKED, ONE, after, ask, asked, decide, execute, ruled, state
from tests.support.inside import Inside
from tests.support.members import Member, member

pytestmark = pytest.mark.anyio

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
    await execute(house, "UPDATE sys.user SET made_by = %s WHERE id = %s", heron.user_id, kestrel.user_id)
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
