"""Reviews while others change what they are about, decided by who must not, and raced."""

import asyncio
from typing import Any

import psycopg
import pytest

from tests.features.reviews.test_reviews import (
    DECIDES,
    REVIEW,
    after,
    close,
    decide,
    execute,
    items,
    start,
    started,
)
from tests.support.inside import Inside
from tests.support.members import Member, member, query

CODE = "system:file:list"


@pytest.fixture
async def heron(house: Inside) -> Member:
    return await member(house, "heron", CODE)


@pytest.fixture
async def kestrel(house: Inside) -> Member:
    return await member(house, "kestrel", *DECIDES)


async def settled(house: Inside, review: Any) -> dict[str, tuple[Any, ...]]:
    return {
        f"{item['userName']} {item['roleCode']}": (item["decision"], item["outcome"])
        for item in await items(house, review)
    }


async def test_no_program_takes_part_by_an_api_key(house: Inside, heron: Member, kestrel: Member) -> None:
    review = await started(house, heron)
    (item,) = await items(house, review)
    account = {"userName": "job", "nickName": "job", "kind": "service", "roleIds": [1, kestrel.role_id]}
    job = await house.data("POST", "/api/user", account)
    made = await house.data("POST", f"/api/user/{job['id']}/keys", {"name": "x"})
    by_key = Member(house, job["id"], 0, "job", made["key"])

    assert (await by_key.ask("GET", f"{REVIEW}/list")).status == 200
    for answer in (
        await decide(by_key, review, item, "keep"),
        await start(by_key, heron),
        await close(by_key, review),
    ):
        assert (answer.status, answer.json["layer"]) == (403, "account"), answer.body


async def test_who_only_lists_reviews_reads_them_and_changes_nothing(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    review = await started(house, heron)
    (item,) = await items(house, review)
    reader = await member(house, "reader", "system:review:list")
    base = f"{REVIEW}/{review['id']}"

    for path in (f"{REVIEW}/list", base, f"{base}/item/list"):
        assert (await reader.ask("GET", path)).status == 200
    refused = await decide(reader, review, item, "keep")
    assert (refused.status, refused.json["layer"]) == (403, "review"), refused.body
    for answer in (
        await start(reader, heron),
        await close(reader, review),
        await reader.ask("GET", f"{base}/evidence"),
    ):
        assert (answer.status, answer.json["layer"]) == (403, "endpoint"), answer.body
    assert (await items(house, review))[0]["decision"] is None
    assert (await kestrel.ask("GET", f"{base}/evidence")).status == 403


async def test_an_item_of_another_review_is_not_decided_by_its_number(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    narrow = await started(house, heron, reviewers={"userIds": [1]})
    open_to_all = await started(house, heron)
    (item,) = await items(house, narrow)

    assert (await decide(kestrel, open_to_all, item, "revoke")).status == 404


@pytest.mark.usefixtures("kestrel")
async def test_of_two_closers_and_the_job_each_item_is_settled_once(house: Inside, heron: Member) -> None:
    others = [await member(house, f"u{number}", CODE) for number in range(5)]
    review = await started(house, heron, *others)
    numbers = "SELECT count(*) FROM sys.ended_assignment WHERE ended_by = %s"

    answers = await asyncio.gather(
        *(close(house, review) for _ in range(3)),
        *(house.ask("POST", "/api/jobs/review-ends/run") for _ in range(2)),
    )

    assert sorted(answer.status for answer in answers[:3]) == [200, 409, 409]
    for _ in range(200):
        if (await house.data("GET", f"{REVIEW}/{review['id']}"))["state"] == "closed":
            break
        await asyncio.sleep(0.05)
    assert {*(await settled(house, review)).values()} == {("revoke", "revoked")}
    assert await query(house, numbers, f"@review:{review['id']}") == [(6,)]
    noticed = "SELECT count(*) FROM sys.notice WHERE user_id = %s AND kind = 'roles_changed'"
    assert await query(house, noticed, heron.user_id) == [(1,)]


async def test_a_decision_beside_the_close_counts_or_is_refused(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    for number in range(6):
        review = await started(house, heron, onSilence="keep")
        (item,) = await items(house, review)
        pause = number * 0.01

        async def later(review: Any = review, pause: float = pause) -> Any:
            await asyncio.sleep(pause)
            return await close(house, review)

        decided, closed = await asyncio.gather(decide(kestrel, review, item, "keep", reason="x"), later())

        assert (decided.status in (200, 409), closed.status) == (True, 200)
        (item,) = await items(house, review)
        assert (item["reviewerName"] == "kestrel") is (decided.status == 200)


async def test_what_ends_or_changes_meanwhile_is_told_as_it_is(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    gone, role_gone = await member(house, "gone", CODE), await member(house, "role-gone", CODE)
    edited, disabled = await member(house, "edited", CODE), await member(house, "disabled", CODE)
    review = await started(house, heron, gone, role_gone, edited, disabled, onSilence="keep")
    listed = {item["userName"]: item for item in await items(house, review)}
    for name in ("gone", "role-gone", "disabled"):
        assert (await decide(kestrel, review, listed[name], "keep")).status == 200
    assert (await decide(kestrel, review, listed["edited"], "shorten", until=after(7200))).status == 200
    await house.data("DELETE", f"/api/user/{gone.user_id}")
    await house.data("DELETE", f"/api/user/{role_gone.user_id}/roles/{listed['role-gone']['assignmentId']}")
    await house.data("DELETE", f"/api/role/{role_gone.role_id}")
    end = after(3600)
    path = f"/api/user/{edited.user_id}/roles/{listed['edited']['assignmentId']}"
    await house.data("PATCH", path, {"until": end})
    await house.data("PATCH", f"/api/user/{disabled.user_id}", {"status": "disabled"})

    assert (await close(house, review)).json["data"]["state"] == "closed"

    assert await settled(house, review) == {
        "heron heron": ("keep", "kept"),
        "gone gone": ("keep", "ended"),
        "role-gone role-gone": ("keep", "ended"),
        "edited edited": ("shorten", "kept"),
        "disabled disabled": ("keep", "kept"),
    }
    (left,) = (await house.data("GET", f"/api/user/{edited.user_id}/roles"))["items"]
    assert left["until"] == end


async def test_an_assignment_that_is_given_again_is_another_one(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    review = await started(house, heron)
    (item,) = await items(house, review)
    await decide(kestrel, review, item, "revoke")
    await house.data("DELETE", f"/api/user/{heron.user_id}/roles/{item['assignmentId']}")
    await execute(house, "INSERT INTO sys.user_role VALUES (%s, %s)", heron.user_id, heron.role_id)

    await close(house, review)

    assert await settled(house, review) == {"heron heron": ("revoke", "ended")}
    assert CODE in await heron.held()


async def test_a_decision_stays_when_its_reviewer_may_decide_no_more(
    house: Inside, heron: Member, kestrel: Member
) -> None:
    review = await started(house, heron)
    (item,) = await items(house, review)
    await decide(kestrel, review, item, "revoke")
    await house.data("PATCH", f"/api/user/{kestrel.user_id}", {"roleIds": []})
    await kestrel.log_in()

    again = await decide(kestrel, review, item, "keep")
    await close(house, review)

    assert again.status == 404
    (item,) = await items(house, review)
    assert (item["reviewerName"], len(item["decisionIds"]), item["outcome"]) == ("kestrel", 1, "revoked")


async def test_a_dry_run_of_a_close_changes_nothing_or_is_refused(house: Inside, heron: Member) -> None:
    review = await started(house, heron)

    answer = await house.ask("POST", f"{REVIEW}/{review['id']}/close?dryRun=true")

    assert answer.status == 422
    assert (await house.data("GET", f"{REVIEW}/{review['id']}"))["state"] == "open"


async def test_nothing_is_written_to_a_closed_review_past_the_service(house: Inside, heron: Member) -> None:
    await member(house, "kestrel", *DECIDES)
    review = await started(house, heron, onSilence="keep")
    await close(house, review)

    for statement in (
        "UPDATE sys.review_item SET outcome = 'revoked'",
        "UPDATE sys.review SET state = 'open', close_time = NULL, end_time = NULL",
        "DELETE FROM sys.review",
        "UPDATE sys.review_item SET review_id = review_id + 1",
    ):
        with pytest.raises(psycopg.errors.RaiseException):
            await execute(house, statement)
