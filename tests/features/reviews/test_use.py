"""What reviews tell of recorded use: last uses, proposals with their ground, and scopes by use."""

from typing import Any

import pytest

from service.features.reviews import population as review_population
from tests.features.permission_use.conftest import days_ago, store_uses
from tests.features.reviews.test_reviews import DECIDES, execute, items, start, started
from tests.support.inside import Inside
from tests.support.members import Member, ids_of, member

CODE = "system:file:list"


@pytest.fixture
async def heron(house: Inside) -> Member:
    """A member whose role gives one code; others may decide."""
    await member(house, "kestrel", *DECIDES)
    return await member(house, "heron", CODE)


async def judged(house: Inside, *users: Member, **changes: Any) -> dict[str, tuple[Any, ...]]:
    """Return last use, ground and proposal by the names of users, as a new review has them."""
    review = await started(house, *users, **changes)
    return {
        item["userName"]: (item["lastUsed"], item["ground"], item["proposal"])
        for item in await items(house, review)
    }


async def test_an_unused_assignment_is_proposed_to_be_revoked_and_a_used_one_to_be_kept(
    house: Inside, heron: Member
) -> None:
    wild, never = await member(house, "wild", "system:*"), await member(house, "never", CODE)
    uses = {
        heron.user_id: {CODE: days_ago(90), "system:role:list": days_ago(1), "@login": days_ago(0)},
        wild.user_id: {CODE: days_ago(89)},
    }
    store_uses(house.database_url, uses)

    assert await judged(house, heron, wild, never) == {
        "heron": (str(days_ago(90)), "unused", "revoke"),
        "wild": (str(days_ago(89)), "used", "keep"),
        "never": (None, "unused", "revoke"),
    }


async def test_nothing_is_claimed_of_a_time_that_was_not_watched(house: Inside, heron: Member) -> None:
    wild = await member(house, "wild", "system:*")
    store_uses(house.database_url, {wild.user_id: {CODE: days_ago(3)}}, since_days=89)

    assert await judged(house, heron, wild) == {
        "heron": (None, "use_not_recorded", None),
        "wild": (str(days_ago(3)), "used", "keep"),
    }
    refused = await start(house, scope={"unusedDays": 90})
    assert [error["field"] for error in refused.json["errors"]] == ["scope"]


async def test_what_is_younger_than_the_time_is_new(house: Inside, heron: Member) -> None:
    later, given = await member(house, "later", CODE), await member(house, "given", CODE)
    await member(house, "empty")
    store_uses(house.database_url, {heron.user_id: {CODE: days_ago(200)}})
    age = "now() - interval '10 days'"
    for change, user in (("create_time", heron), ("valid_from", later)):
        await execute(house, f"UPDATE sys.user_role SET {change} = {age} WHERE user_id = %s", user.user_id)
    await execute(
        house, f"UPDATE sys.role_code_life SET begin_time = {age} WHERE role_id = %s", given.role_id
    )

    # A use from before the assignment was needed by another one.
    expected = dict.fromkeys(("heron", "later", "given"), (None, "new", "keep"))
    assert await judged(house, heron, later, given) == expected


async def test_a_role_without_codes_and_a_disabled_user_are_not_judged_by_use(
    house: Inside, heron: Member
) -> None:
    empty = await member(house, "empty")
    store_uses(house.database_url, {})
    await house.data("PATCH", f"/api/user/{heron.user_id}", {"status": "disabled"})

    assert await judged(house, heron, empty) == {
        "heron": (None, "user_disabled", "revoke"),
        "empty": (None, "use_not_recorded", None),
    }


async def test_the_scope_that_comes_with_unused_rights_has_exactly_their_assignments(
    house: Inside, heron: Member
) -> None:
    gone, used = await member(house, "gone", CODE), await member(house, "used", CODE)
    store_uses(house.database_url, {heron.user_id: {CODE: days_ago(40)}, used.user_id: {CODE: days_ago(5)}})
    await house.data("PATCH", f"/api/user/{gone.user_id}", {"status": "disabled"})

    for days, about in ((30, {"heron", "gone"}), (60, {"gone"})):
        unused = await house.data("GET", f"/api/policy/unused?days={days}&size=100")
        review = await started(house, scope=unused["reviewScope"])
        listed = await items(house, review)

        assert {item["assignmentId"] for item in listed} == {
            each["id"] for each in unused["assignments"]["items"]
        }
        assert {item["userName"] for item in listed} >= about
        assert not {item["userName"] for item in listed} & ({"heron", "gone", "used"} - about)


async def test_a_narrow_scope_is_drawn_from_all_assignments(
    house: Inside, heron: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_population, "MOST_ITEMS", 1)
    wild, last = await member(house, "wild", CODE), await member(house, "zebra", "system:job:run")
    store_uses(house.database_url, {each.user_id: {CODE: days_ago(1)} for each in (heron, wild)})
    users = {"userIds": [each.user_id for each in (heron, wild, last)]}

    for narrow in ({"codes": ["system:job:run"]}, {"unusedDays": 90}):
        review = await started(house, scope=users | narrow)
        assert [item["userName"] for item in await items(house, review)] == ["zebra"]
    refused = await start(house, scope=users)
    assert "more than 1 assignments" in refused.body.decode()


async def test_a_scope_of_codes_and_services_has_the_roles_that_meet_both(house: Inside) -> None:
    await member(house, "lists", CODE)
    await member(house, "both", CODE, "system:job:run")
    given = {"resourceName": "x", "resourceCode": "x", "method": "GET", "path": "/api/x/{id}"}
    resource = await house.data("POST", "/api/resource", given)
    bound = {"menuIds": await ids_of(house, "system:job:run")}
    await house.data("PUT", f"/api/resource/{resource['id']}/buttons", bound)

    review = await started(house, scope={"codes": [CODE], "services": ["portcullis"]})

    names = {item["userName"] for item in await items(house, review)}
    assert "both" in names
    assert "lists" not in names
