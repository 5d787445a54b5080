"""Nobody decides about themselves through an account that they made, or to which they have a link."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reviews.test_reviews import DECIDES, close, decide, execute, items, started
from tests.support.inside import Inside
from tests.support.members import Member, member, query

pytestmark = pytest.mark.anyio

MADE = "UPDATE sys.user SET made_by = %s WHERE id = %s"
LINK = (
    "INSERT INTO sys.account_token (digest, purpose, user_id, created_by, expires_time)"
    " VALUES (sha256('x'), 'password_reset', %s, %s, now() + %s)"
)


@pytest.fixture
async def heron(house: Inside) -> Member:
    """Who is reviewed."""
    return await member(house, "heron", "system:file:list")


@pytest.fixture
async def puppet(house: Inside) -> Member:
    """Somebody who decides."""
    return await member(house, "puppet", *DECIDES)


async def decides(by: Member, house: Inside, review: Any) -> bool:
    (item,) = await items(house, review)
    answer = await decide(by, review, item, "keep")
    if answer.status != 200:
        assert (answer.status, answer.json["layer"], answer.json["required"]) == (403, "review", [])
    return answer.status == 200


async def test_who_was_made_by_somebody_does_not_decide_about_them(
    house: Inside, heron: Member, puppet: Member
) -> None:
    second = await member(house, "second", *DECIDES)
    await execute(house, MADE, heron.user_id, puppet.user_id)
    await execute(house, MADE, puppet.user_id, second.user_id)
    mine, theirs = await started(house, heron), await started(house, second)

    assert [await decides(by, house, mine) for by in (puppet, second)] == [False, False]
    # To have made somebody is no reason not to decide about them.
    assert await decides(puppet, house, theirs)
    await house.data("DELETE", f"/api/user/{puppet.user_id}")
    assert not await decides(second, house, mine)


async def test_who_has_a_link_of_somebody_does_not_decide_about_them(
    house: Inside, heron: Member, puppet: Member
) -> None:
    review = await started(house, heron)
    await execute(house, LINK, puppet.user_id, heron.user_id, "1 hour")

    assert not await decides(puppet, house, review)
    await execute(house, "UPDATE sys.account_token SET expires_time = now()")
    assert await decides(puppet, house, review)


async def test_who_was_taken_over_while_the_review_is_open_does_not_decide_about_who_did_it(
    house: Inside, puppet: Member
) -> None:
    heron = await member(house, "heron", "system:*")
    raven = await member(house, "raven", *DECIDES)
    new = {"newPassword": "quite long 4711"}
    await heron.ask("PUT", f"/api/user/{raven.user_id}/password", new)
    review = await started(house, heron)

    answer = await heron.ask("PUT", f"/api/user/{puppet.user_id}/password", new)

    assert answer.status == 200, answer.body
    await query(
        house, "UPDATE sys.user SET password_hash = (SELECT password_hash FROM sys.user WHERE id = 1)"
    )
    await query(house, "UPDATE sys.user SET password_initial = NULL")
    for each in (puppet, raven):
        await each.log_in()
    assert not await decides(puppet, house, review)
    # What was before the review, its owner has changed since, or was told of.
    assert await decides(raven, house, review)
    assert await decides(puppet, house, await started(house, heron))


async def test_what_only_accounts_of_its_user_could_decide_is_a_finding_and_stays(
    house: Inside, heron: Member, puppet: Member
) -> None:
    raven = await member(house, "raven", *DECIDES)
    for each in (puppet, raven):
        await execute(house, MADE, heron.user_id, each.user_id)
    reviewers = {"userIds": [puppet.user_id, raven.user_id]}
    review = await started(house, heron, puppet, reviewers=reviewers)
    open_to_all = await started(house, heron)

    await close(house, review)

    settled = {item["userName"]: (item["finding"], item["outcome"]) for item in await items(house, review)}
    assert settled == {"heron": ("no_reviewer", "kept"), "puppet": (None, "revoked")}
    # The administrator decides as well, and is not among the first two by name.
    await execute(house, "UPDATE sys.user SET user_name = 'zz', user_name_key = 'zz' WHERE id = 1")
    assert [item["finding"] for item in await items(house, open_to_all)] == [None]
    assert [item["finding"] for item in await items(house, await started(house, heron))] == [None]
