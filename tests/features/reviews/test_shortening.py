"""What becomes of assignments of one role that a review shortens or revokes beside one another."""

import asyncio
from typing import Any

import pytest

from service.records import assignments
from tests.features.reviews.test_reviews import DECIDES, close, decide, execute, items, started
from tests.support.inside import Inside
from tests.support.members import Member, member, query

CODE = "system:file:list"
DEADLINE, JUNE, NOVEMBER, DECEMBER = (f"2999-{month:02}-01T00:00:00.000Z" for month in (5, 6, 11, 12))
"""The deadline of reviews, and ends of assignments after it."""


@pytest.fixture
async def heron(house: Inside) -> Member:
    """Somebody with a role that each test gives as it needs it."""
    heron = await member(house, "heron", CODE)
    await execute(house, "DELETE FROM sys.user_role WHERE user_id = %s", heron.user_id)
    return heron


@pytest.fixture
async def kestrel(house: Inside) -> Member:
    return await member(house, "kestrel", *DECIDES)


async def begun(house: Inside, heron: Member, *ends: str, **body: Any) -> tuple[Any, list[Any]]:
    """Give the role until each of ``ends``; begin a review of it, and return it with its items."""
    for end in ends:
        await house.data("POST", f"/api/user/{heron.user_id}/roles", {"roleId": heron.role_id, "until": end})
    review = await started(house, heron, deadline=DEADLINE, **body)
    return review, await items(house, review)


async def outcomes(house: Inside, review: Any) -> list[tuple[Any, ...]]:
    return [(item["outcome"], item["outcomeReason"] is None) for item in await items(house, review)]


async def left(house: Inside, heron: Member) -> list[str]:
    """Return until when the user has the role."""
    return [each["until"] for each in (await house.data("GET", f"/api/user/{heron.user_id}/roles"))["items"]]


async def test_two_assignments_that_are_shortened_to_one_end_are_one_from_then_on(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    review, listed = await begun(house, heron, DECEMBER, NOVEMBER)
    for item in listed:
        assert (await decide(kestrel, review, item, "shorten", until=JUNE)).status == 200

    closed = await close(house, review)

    assert (closed.status, closed.json["data"]["state"]) == (200, "closed"), closed.body
    assert await outcomes(house, review) == [("shortened", True), ("shortened", False)]
    assert await left(house, heron) == [JUNE]
    facts = "SELECT facts FROM sys.notice WHERE user_id = %s ORDER BY id DESC LIMIT 1"
    assert "takenRoles" not in (await query(house, facts, heron.user_id))[0][0]


@pytest.mark.parametrize("apply", ["at_end", "at_once"])
@pytest.mark.parametrize(("silent", "shortened"), [(True, 0), (True, 1), (False, 0), (False, 1)])
async def test_a_shortened_role_stays_though_the_one_that_it_is_like_is_revoked(
    house: Inside, heron: Member, apply: str, *, silent: bool, shortened: int
) -> None:
    kestrel = await member(house, "kestrel", *DECIDES)
    ends = [JUNE, JUNE]
    ends[shortened] = DECEMBER
    review, listed = await begun(house, heron, *ends, apply=apply)
    assert (await decide(kestrel, review, listed[shortened], "shorten", until=JUNE)).status == 200
    if not silent:
        assert (await decide(kestrel, review, listed[1 - shortened], "revoke")).status == 200

    await close(house, review)

    other = "ended" if apply == "at_once" else "revoked"
    assert [(await outcomes(house, review))[place][0] for place in (shortened, 1 - shortened)] == [
        "shortened",
        other,
    ]
    assert await left(house, heron) == [JUNE]
    assert CODE in await heron.held()


async def test_a_role_that_is_shortened_to_the_end_of_one_that_ends_earlier_now_keeps_its_own(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    review, (longer, shorter) = await begun(house, heron, DECEMBER, NOVEMBER)
    await decide(kestrel, review, longer, "shorten", until=NOVEMBER)
    await decide(kestrel, review, shorter, "shorten", until=JUNE)

    await close(house, review)

    assert await outcomes(house, review) == [("shortened", True), ("shortened", True)]
    assert sorted(await left(house, heron)) == [JUNE, NOVEMBER]


async def test_what_was_kept_stays_and_the_one_that_is_shortened_to_it_says_why_it_ended(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    review, (longer, shorter) = await begun(house, heron, DECEMBER, JUNE)
    await decide(kestrel, review, longer, "shorten", until=JUNE)
    await decide(kestrel, review, shorter, "keep")

    await close(house, review)

    assert await outcomes(house, review) == [("shortened", False), ("kept", True)]
    assert await left(house, heron) == [JUNE]


@pytest.mark.parametrize(("until", "became"), [(None, "ended"), (JUNE, "shortened")])
async def test_what_ends_since_another_review_asks_about_it_is_not_said_to_be_kept(
    house: Inside, heron: Member, kestrel: Member, until: str | None, became: str
) -> None:
    review, (first, second) = await begun(house, heron, NOVEMBER, DECEMBER)
    twin, end = (first, JUNE) if until else (first, NOVEMBER)
    other = await started(house, heron, deadline=DEADLINE, onSilence="keep")
    assert (await decide(kestrel, review, second, "shorten", until=end)).status == 200
    more = {"until": until} if until else {}
    assert (await decide(kestrel, review, twin, "shorten" if until else "keep", **more)).status == 200

    await close(house, review)

    assert await outcomes(house, review) == [(became, False), ("shortened", True)]
    assert await left(house, heron) == [end]
    logged = "SELECT changes FROM sys.operation_log WHERE method = 'JOB' AND url LIKE %s ORDER BY id"
    for _ in range(200):
        if entries := await query(house, logged, f"%/review/{review['id']}/close"):
            break
        await asyncio.sleep(0.05)
    changes = [(each["before"], each["after"]) for each in entries[0][0] if each["field"] == "roles"]
    assert ([f"heron until {end}"], []) in changes
    await close(house, other)
    assert await outcomes(house, other) == [("ended", False), ("kept", True)]


async def test_an_end_that_the_database_refuses_does_not_keep_a_review_open(
    house: Inside, heron: Member, kestrel: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unseen(*_: object) -> None:
        return None

    review, (longer, shorter) = await begun(house, heron, DECEMBER, JUNE)
    await decide(kestrel, review, longer, "shorten", until=JUNE)
    await decide(kestrel, review, shorter, "keep")
    monkeypatch.setattr(assignments, "identical", unseen)

    assert (await close(house, review)).json["data"]["state"] == "closed"

    assert await outcomes(house, review) == [("refused", False), ("kept", True)]


async def test_no_role_is_shortened_to_an_end_before_the_close_that_would_apply_it(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    review, (item,) = await begun(house, heron, DECEMBER)

    early = await decide(kestrel, review, item, "shorten", until=DEADLINE)

    assert (early.status, early.fields) == (422, ["until"])
    assert (await decide(kestrel, review, item, "shorten", until=JUNE)).status == 200
    past = "UPDATE sys.review_item SET until = now() WHERE id = %s"
    await execute(house, past, item["id"])
    await close(house, review)
    assert await outcomes(house, review) == [("shortened", False)]


@pytest.mark.parametrize("apply", ["at_end", "at_once"])
async def test_what_a_directory_gives_is_kept_and_never_pretended_to_end(
    house: Inside, heron: Member, kestrel: Member, apply: str
) -> None:
    given = (
        "INSERT INTO sys.user_role (user_id, role_id, source, directory) VALUES (%s, %s, 'directory', 'x')"
    )
    await execute(house, given, heron.user_id, heron.role_id)
    review, (item,) = await begun(house, heron, apply=apply)

    refused = [
        await decide(kestrel, review, item, "revoke"),
        await decide(kestrel, review, item, "shorten", until=JUNE),
    ]

    assert [(each.status, each.json["rule"], each.json["directory"]) for each in refused] == [
        (409, "directory", "x")
    ] * 2
    await close(house, review)
    (item,) = await items(house, review)
    assert (item["decision"], item["outcome"]) == ("keep", "kept")
    assert CODE in await heron.held()


async def test_a_decision_that_was_stored_about_what_a_directory_gives_is_refused_at_the_close(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    review, (item,) = await begun(house, heron, DECEMBER)
    await decide(kestrel, review, item, "revoke")
    given = (
        "INSERT INTO sys.user_role (user_id, role_id, source, directory) VALUES (%s, %s, 'directory', 'x')"
    )
    await execute(house, given, heron.user_id, heron.role_id)
    await execute(house, "ALTER TABLE sys.review_item DISABLE TRIGGER keep_review_item")
    await execute(house, "UPDATE sys.review_item SET source = 'directory' WHERE id = %s", item["id"])
    await execute(house, "ALTER TABLE sys.review_item ENABLE TRIGGER keep_review_item")

    await close(house, review)

    assert await outcomes(house, review) == [("refused", False)]
    assert CODE in await heron.held()
