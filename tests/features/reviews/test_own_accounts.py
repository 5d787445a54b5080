"""Nobody decides about themselves by another account that counts as the same person."""

from typing import Any

import pytest

from tests.features.reviews.test_reviews import DECIDES, close, decide, execute, items, started
from tests.support.inside import Inside
from tests.support.members import Member, member, query
from tests.support.standing_behind import acted


@pytest.fixture
async def heron(house: Inside) -> Member:
    """Who is reviewed."""
    return await member(house, "heron", "system:file:list")


@pytest.fixture
async def puppet(house: Inside) -> Member:
    """Somebody who decides."""
    return await member(house, "puppet", *DECIDES)


async def decides(by: Member, review: Any) -> bool:
    """Tell whether somebody may decide about the only item: as the item says before, to that reader."""
    (item,) = (await by.ask("GET", f"/api/review/{review['id']}/item/list")).json["data"]["items"]
    shown = (await by.ask("GET", f"/api/review/{review['id']}")).json["data"]
    waits = item["samePerson"] is None and item["decision"] is None
    assert (shown["mayDecide"], shown["waiting"]) == (True, int(waits))
    answer = await decide(by, review, item, "keep")
    if answer.status != 200:
        assert (answer.status, answer.json["layer"], answer.json["required"]) == (403, "review", [])
        assert answer.json["detail"] == (
            f"You are not allowed to decide about this assignment: {item['samePerson']}"
        )
    else:
        assert item["samePerson"] is None
    return answer.status == 200


@pytest.mark.parametrize("act", ["made", "password"])
async def test_who_stands_behind_somebody_or_before_does_not_decide_about_them(
    house: Inside, heron: Member, puppet: Member, act: str
) -> None:
    second = await member(house, "second", *DECIDES)
    stranger = await member(house, "stranger", *DECIDES)
    await acted(house, heron.user_id, puppet.user_id, act)
    await acted(house, puppet.user_id, second.user_id, act)
    mine, theirs = await started(house, heron), await started(house, second)

    assert [await decides(by, mine) for by in (puppet, second, stranger)] == [False, False, True]
    # To have made somebody is a reason as well.
    assert [await decides(by, theirs) for by in (puppet, stranger)] == [False, True]
    await house.data("DELETE", f"/api/user/{puppet.user_id}")
    assert not await decides(second, mine)


async def test_an_act_of_before_the_review_counts_until_its_days_are_over(
    house: Inside, heron: Member, puppet: Member
) -> None:
    await acted(house, heron.user_id, puppet.user_id, "password", 29)
    review = await started(house, heron)
    assert not await decides(puppet, review)

    await execute(house, "UPDATE sys.account_control SET act_time = act_time - interval '2 days'")

    assert await decides(puppet, review)


async def test_whoever_began_the_review_or_made_both_is_no_part_of_it(
    house: Inside, heron: Member, puppet: Member
) -> None:
    for each in (heron, puppet):
        await acted(house, 1, each.user_id, "made")

    assert await decides(puppet, await started(house, heron))


async def test_what_only_accounts_of_its_user_could_decide_is_a_finding_and_stays(
    house: Inside, heron: Member, puppet: Member
) -> None:
    raven = await member(house, "raven", *DECIDES)
    for each in (puppet, raven):
        await acted(house, heron.user_id, each.user_id, "made")
    reviewers = {"userIds": [puppet.user_id, raven.user_id]}
    review = await started(house, heron, puppet, reviewers=reviewers)
    open_to_all = await started(house, heron)

    await close(house, review)

    settled = {item["userName"]: (item["finding"], item["outcome"]) for item in await items(house, review)}
    assert settled == {"heron": ("no_reviewer", "kept"), "puppet": (None, "revoked")}
    # The administrator decides as well, and is not among the first two by name.
    await query(house, "UPDATE sys.user SET user_name = 'zz', user_name_key = 'zz' WHERE id = 1")
    assert [item["finding"] for item in await items(house, open_to_all)] == [None]
    assert [item["finding"] for item in await items(house, await started(house, heron))] == [None]
