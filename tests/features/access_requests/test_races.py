"""Whatever comes at once, a request ends in exactly one way; and no program takes part."""

import asyncio

from tests.features.access_requests.test_emergencies import close, given, site
from tests.features.access_requests.test_requests import ASKED, ask, asked, decide, ruled, state
from tests.roles.test_request_rules import RULE, path
from tests.support.inside import Inside
from tests.support.members import Member, member, query

__all__ = ["site"]


async def program(house: Inside) -> Member:
    """Return a service account that holds everything, with its key as the token."""
    account = {"userName": "program", "nickName": "Program", "kind": "service"}
    user_id = (await house.data("POST", "/api/user", account))["id"]
    role_id = (await house.data("GET", "/api/role/list?roleCode=super"))["items"][0]["id"]
    await query(house, "INSERT INTO sys.user_role (user_id, role_id) VALUES (%s, %s)", user_id, role_id)
    key = (await house.data("POST", f"/api/user/{user_id}/keys", {"name": "job"}))["key"]
    return Member(house, user_id, role_id, "program", key)


async def test_an_api_key_neither_asks_nor_decides_nor_closes(house: Inside) -> None:
    await ruled(house)
    heron, key = await member(house, "heron-1"), await program(house)
    request = await asked(heron)

    answers = [await ask(key), await decide(key, request), await close(key, request)]

    assert [(answer.status, answer.json["layer"]) for answer in answers] == [(403, "account")] * 3
    assert (await key.ask("DELETE", f"{ASKED}/{request['id']}")).status == 403
    assert await state(house, request) == "pending"


async def test_an_approval_against_an_edit_of_the_rule_ends_in_exactly_one_of_them(house: Inside) -> None:
    number = await ruled(house)
    heron, kestrel = await member(house, "heron-1"), await member(house, "kestrel", "system:user:list")
    for seconds in range(600, 605):
        request = await asked(await heron.log_in())
        rule = RULE | {"stages": [{"code": "system:user:list", "approvals": 1}], "maxDuration": seconds}
        edit = house.ask("PUT", path(number), rule)
        approval, edited = await asyncio.gather(decide(kestrel, request), edit)
        assert edited.status == 200
        ended = await state(house, request)
        assert (approval.status, ended) in [(200, "approved"), (409, "failed")]


async def test_an_approval_against_a_denial_ends_in_exactly_one_of_them(house: Inside) -> None:
    await ruled(house)
    heron, kestrel = await member(house, "heron-1"), await member(house, "kestrel", "system:user:list")
    crane = await member(house, "crane", "system:user:list")
    for _ in range(5):
        request = await asked(await heron.log_in())
        approval, denial = await asyncio.gather(decide(kestrel, request), decide(crane, request, "deny"))
        ended = await state(house, request)
        assert (approval.status, denial.status, ended) in [(200, 409, "approved"), (409, 200, "denied")]


async def test_of_two_who_close_an_emergency_at_once_one_has_closed_it(site: Inside) -> None:
    _, kestrel, request = await given(site)
    crane = await member(site, "crane", "system:user:list")

    answers = await asyncio.gather(close(kestrel, request), close(crane, request))

    assert sorted(answer.status for answer in answers) == [200, 409]
