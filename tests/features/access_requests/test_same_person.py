"""In a request one person counts once, and the author's person not at all, by whatever accounts."""

from typing import Any

import pytest

from service.features.operations.checks import CHECKS
from service.features.operations.diagnosis.examination import examine
from service.settings import load
from tests.features.access_requests.test_beginnings import SECRET
from tests.features.access_requests.test_requests import ONE, asked, decide, execute, ruled, state
from tests.features.operations.doctor.conftest import no_routes
from tests.support.inside import Inside
from tests.support.members import Member, member
from tests.support.standing_behind import acted

TWO = [ONE | {"approvals": 2}]
APPROVER = "system:user:list"


async def offered(person: Member, request: Any) -> list[str]:
    """Return what the lists of requests and the request itself offer ``person`` to decide.

    Whoever may approve is named by the request, or too many are.
    """
    shown = (await person.ask("GET", f"/api/access-request/{request['id']}")).json["data"]
    listed = (await person.ask("GET", "/api/access-request/list")).json["data"]["items"]
    (mine,) = [each["mayDecide"] for each in listed if each["id"] == request["id"]]
    assert mine == shown["mayDecide"]
    named = shown["stages"][0]["approvers"]
    assert named is None or (person.name in named) == ("approve" in mine)
    return list(mine)


async def people(house: Inside, *names: str) -> list[Member]:
    return [await member(house, name, APPROVER) for name in names]


@pytest.mark.parametrize("days", [29, 31])
@pytest.mark.parametrize("downwards", [True, False])
async def test_who_stands_behind_the_author_or_before_approves_nothing_for_the_set_days(
    house: Inside, days: int, *, downwards: bool
) -> None:
    await ruled(house)
    heron, kestrel = await people(house, "heron-1", "kestrel")
    above, below = (heron, kestrel) if downwards else (kestrel, heron)
    await acted(house, above.user_id, below.user_id, "made", days)
    request = await asked(heron)
    shown = (await kestrel.ask("GET", f"/api/access-request/{request['id']}")).json["data"]
    may_decide = await offered(kestrel, request)

    answer = await decide(kestrel, request)

    assert may_decide == (["approve", "deny"] if days > 30 else [])
    if days > 30:
        assert (answer.status, shown["samePerson"]) == (200, None)
        return
    assert (answer.status, answer.json["layer"], answer.json["required"]) == (403, "approve", [])
    expected = "created kestrel on" if downwards else "created heron-1 on"
    assert answer.json["detail"].startswith(
        "You are not allowed to decide about this request: kestrel counts as the same person as heron-1: "
    )
    assert expected in answer.json["detail"]
    assert answer.json["detail"].endswith(shown["samePerson"])
    assert (shown["samePersonCode"], shown["samePersonParams"]["first"]) == ("same_person", "kestrel")
    assert await state(house, request) == "pending"


async def test_nobody_approves_twice_by_an_account_that_they_make_or_take_over_while_it_waits(
    house: Inside,
) -> None:
    await ruled(house, stages=TWO)
    heron = await member(house, "heron-1")
    kestrel = await member(house, "kestrel", "*")
    crane, raven = await people(house, "crane", "raven")
    request = await asked(heron)
    assert (await decide(kestrel, request)).status == 200

    new = {"newPassword": "Tr0ub4dor-and-heron"}
    assert (await kestrel.ask("PUT", f"/api/user/{crane.user_id}/password", new)).status == 200
    await execute(house, "UPDATE sys.user SET password_initial = NULL")
    crane.token = await house.log_in("crane", new["newPassword"])
    refused = await decide(crane, request)

    assert (refused.status, refused.json["layer"]) == (403, "approve")
    assert (
        "crane counts as the same person as kestrel: kestrel set the password of crane on"
        in refused.json["detail"]
    )
    assert (await decide(raven, request)).json["data"]["state"] == "approved"


async def test_approvals_of_two_who_turn_out_to_be_one_person_count_once(house: Inside) -> None:
    await ruled(house, stages=[ONE | {"approvals": 3}])
    heron = await member(house, "heron-1")
    kestrel, crane, raven, ibis = await people(house, "kestrel", "crane", "raven", "ibis")
    request = await asked(heron)
    for each in (kestrel, crane):
        await decide(each, request)
    await acted(house, kestrel.user_id, crane.user_id)

    waiting = (await decide(raven, request)).json["data"]

    assert (waiting["state"], waiting["stages"][0]["counted"]) == ("pending", 2)
    assert (await decide(ibis, request)).json["data"]["state"] == "approved"


async def test_somebody_who_took_both_over_joins_approvers_and_who_only_made_them_does_not(
    house: Inside,
) -> None:
    await ruled(house, stages=TWO)
    heron, admin = await member(house, "heron-1"), await member(house, "other-admin")
    kestrel, crane = await people(house, "kestrel", "crane")
    for each in (heron, kestrel, crane):
        await acted(house, admin.user_id, each.user_id, "made")
    request = await asked(heron)
    assert (await decide(kestrel, request)).status == 200

    await acted(house, admin.user_id, crane.user_id, "factor")
    refused = await decide(crane, request)
    await execute(house, "DELETE FROM sys.account_control WHERE act = 'factor'")

    assert (refused.status, refused.json["layer"]) == (403, "approve")
    assert (await decide(crane, request)).json["data"]["state"] == "approved"


async def test_a_list_offers_decisions_to_those_whom_the_policy_lets_decide(house: Inside) -> None:
    await ruled(house, "system:role:list", stages=[ONE | {"approvals": 3}])
    author = await member(house, "heron-1", "*")
    able, without_grant, appointed = [
        await member(house, name, *codes)
        for name, *codes in (("wren", "*"), ("finch", APPROVER), ("rook", "*"))
    ]
    request = await asked(author)
    appoint = "INSERT INTO sys.access_request_appointee (request_id, user_id) VALUES (%s, %s)"
    await execute(house, appoint, request["id"], appointed.user_id)

    everybody = (able, without_grant, appointed, author)
    assert [await offered(each, request) for each in everybody] == [["approve", "deny"], [], [], []]
    for each in (without_grant, appointed, author):
        assert (await decide(each, request)).status == 403
    assert (await decide(able, request)).json["data"]["mayDecide"] == []


async def test_an_api_key_is_offered_no_decision(house: Inside) -> None:
    await ruled(house)
    request = await asked(await member(house, "heron-1"))
    robot = {"userName": "robot", "nickName": "Robot", "kind": "service", "roleIds": [1]}
    key = await house.data(
        "POST", f"/api/user/{(await house.data('POST', '/api/user', robot))['id']}/keys", {"name": "k"}
    )
    answer = await house.ask("GET", f"/api/access-request/{request['id']}", token=key["key"])
    assert answer.json["data"]["mayDecide"] == []


async def test_a_denial_needs_no_other_person_than_the_authors(house: Inside) -> None:
    await ruled(house, stages=TWO)
    heron = await member(house, "heron-1")
    kestrel, crane = await people(house, "kestrel", "crane")
    await acted(house, crane.user_id, kestrel.user_id)
    request = await asked(heron)
    await decide(kestrel, request)

    assert await offered(crane, request) == ["deny"]
    assert (await decide(crane, request, "deny")).json["data"]["state"] == "denied"


async def test_a_rule_whose_approvers_are_one_person_is_told_of(house: Inside) -> None:
    await ruled(house)
    await execute(house, "UPDATE sys.user SET status = 'disabled' WHERE id <> 1")
    kestrel, crane = await people(house, "kestrel", "crane")
    await execute(house, "DELETE FROM sys.user_role WHERE user_id = 1")
    await acted(house, kestrel.user_id, crane.user_id)

    stores = {"DATABASE_URL": house.database_url, "REDIS_URL": house.redis_url, "JWT_SECRET": SECRET}
    environ = {"PORTCULLIS_CONFIG": "", **stores}
    check = [check for check in CHECKS if check.name == "request-rules"]
    ((_, finding),) = await examine(environ, load(environ), no_routes, check)

    assert finding.state == "warning"
    assert "role heron: its 2 approvers count as one person: kestrel counts as the same" in finding.message
