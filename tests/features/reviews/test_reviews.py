"""Reviews of assignments: each rule by plain HTTP."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from service.features.reviews import api_reviews as endpoints
from service.features.reviews import reviews as administration
from service.kernel.clock import rfc3339
from service.kernel.request_objects import CLOSE_OWN
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import Member, member, query
from tests.web.driver import Answer

REVIEW = "/api/review"
DECIDES = ("system:review:decide", "system:review:list")


def after(seconds: float) -> str:
    return rfc3339(datetime.now(UTC) + timedelta(seconds=seconds))


def body_of(*users: Member, **changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "title": "Access 2026-Q4",
        "scope": {"userIds": [user.user_id for user in users]},
        "reviewers": {},
        "deadline": after(3600),
        "onSilence": "revoke",
        "apply": "at_end",
    }
    return body | changes


async def start(by: Inside | Member, *users: Member, **changes: Any) -> Answer:
    return await by.ask("POST", REVIEW, body_of(*users, **changes))


async def started(by: Inside | Member, *users: Member, **changes: Any) -> Any:
    answer = await start(by, *users, **changes)
    assert answer.status == 201, answer.body
    return answer.json["data"]


async def items(house: Inside, review: Any) -> list[Any]:
    page = await house.data("GET", f"{REVIEW}/{review['id']}/item/list?size=200")
    listed: list[Any] = page["items"]
    return listed


async def decide(by: Inside | Member, review: Any, item: Any, decision: str, **body: Any) -> Answer:
    target = f"{REVIEW}/{review['id']}/item/{item['id']}/decision"
    return await by.ask("POST", target, {"decision": decision, "reason": "Looked at it"} | body)


async def close(house: Inside | Member, review: Any) -> Answer:
    return await house.ask("POST", f"{REVIEW}/{review['id']}/close")


async def execute(house: Inside, statement: str, *values: object) -> None:
    await query(house, statement, *values)


async def test_items_are_the_assignments_as_they_are_when_the_review_begins(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    await member(house, "kestrel", *DECIDES)

    review = await started(house, heron)
    (item,) = await items(house, review)
    await execute(house, "UPDATE sys.user_role SET reason = 'later' WHERE user_id = %s", heron.user_id)

    assert review["state"] == "open"
    assert review["progress"] == {"items": 1, "decided": 0, "settled": 0, "findings": 0}
    assert (item["userName"], item["roleCode"], item["opens"]) == ("heron", "heron", ["system:file:list"])
    assert (item["ground"], item["proposal"], item["decision"]) == ("use_not_recorded", None, None)
    assert await items(house, review) == [item]


async def test_a_dry_run_of_a_beginning_tells_how_many_items_and_findings_there_would_be(
    house: Inside,
) -> None:
    herons = [await member(house, name, "system:file:list") for name in ("heron", "egret")]
    body = {"reviewers": {"userIds": [herons[0].user_id]}, "title": "Nobody decides"}

    asked = await house.ask("POST", f"{REVIEW}?dryRun=true", body_of(*herons, **body))

    expected = {"items": 2, "decided": 0, "settled": 0, "findings": 2}
    assert (asked.status, asked.json["data"]["progress"]) == (200, expected), asked.body
    assert (await house.data("GET", f"{REVIEW}/list"))["total"] == 0


async def test_a_revoked_assignment_is_gone_with_the_answer(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, heron, apply="at_once")
    (item,) = await items(house, review)

    decided = await decide(kestrel, review, item, "revoke")

    assert (decided.status, decided.json["data"]["outcome"]) == (200, "revoked"), decided.body
    assert decided.json["data"]["reviewerName"] == "kestrel"
    assert len(decided.json["data"]["decisionIds"]) == 1
    assert (await heron.ask("GET", "/api/file/list")).status == 401
    assert await heron.held() == set()
    assert (await decide(kestrel, review, item, "keep")).status == 409


async def test_decisions_at_the_end_replace_one_another_until_then(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, heron)
    (item,) = await items(house, review)

    await decide(kestrel, review, item, "revoke")
    assert "system:file:list" in await heron.held()
    await decide(kestrel, review, item, "keep")
    closed = await close(house, review)

    assert (closed.status, closed.json["data"]["state"]) == (200, "closed"), closed.body
    assert closed.json["data"]["closedBy"] == "admin"
    (item,) = await items(house, review)
    assert (item["decision"], item["outcome"]) == ("keep", "kept")
    assert "system:file:list" in await heron.held()


async def test_silence_revokes_or_keeps_as_the_review_says(house: Inside) -> None:
    await member(house, "kestrel", *DECIDES)
    for rule, outcome in (("revoke", "revoked"), ("keep", "kept")):
        heron = await member(house, f"heron-{rule}", "system:file:list")
        review = await started(house, heron, onSilence=rule)

        await close(house, review)

        (item,) = await items(house, review)
        assert (item["decision"], item["outcome"], item["reviewerName"]) == (rule, outcome, None)
        assert ("system:file:list" in await heron.held()) is (rule == "keep")


async def test_an_assignment_is_shortened_and_never_lengthened(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, heron, apply="at_once")
    (item,) = await items(house, review)
    end = after(600)

    without = await decide(kestrel, review, item, "shorten")
    kept = await decide(kestrel, review, item, "keep", until=end)
    past = await decide(kestrel, review, item, "shorten", until=after(-60))
    decided = await decide(kestrel, review, item, "shorten", until=end)

    assert [without.status, kept.status, past.status] == [422, 422, 422]
    assert decided.json["data"]["outcome"] == "shortened", decided.body
    (given,) = (await house.data("GET", f"/api/user/{heron.user_id}/roles"))["items"]
    assert given["until"] == end
    second = await started(house, heron, apply="at_once")
    (item,) = await items(house, second)
    assert (await decide(kestrel, second, item, "shorten", until=after(900))).status == 422


async def test_nobody_decides_about_their_own_roles_whatever_they_hold(house: Inside) -> None:
    everything = await member(house, "everything", "*")
    await member(house, "kestrel", *DECIDES)
    review = await started(house, everything)
    (item,) = await items(house, review)

    refused = await decide(everything, review, item, "keep")

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (403, "review", [])
    assert (await items(house, review))[0]["decision"] is None


async def test_what_nobody_may_decide_is_a_finding_and_stays(house: Inside) -> None:
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, kestrel, reviewers={"userIds": [kestrel.user_id]})

    (item,) = await items(house, review)
    await close(house, review)

    assert item["finding"] == "no_reviewer"
    (item,) = await items(house, review)
    assert (item["decision"], item["outcome"], item["finding"]) == ("keep", "kept", "no_reviewer")
    assert await kestrel.held() >= {*DECIDES}


async def test_the_last_administrator_is_a_finding_and_can_not_be_revoked(house: Inside) -> None:
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, scope={"userIds": [1]}, apply="at_once")
    (item,) = await items(house, review)

    refused = await decide(kestrel, review, item, "revoke")
    await close(house, review)

    assert item["finding"] == "last_administrator"
    assert (refused.status, refused.json["rule"]) == (409, "last_administrator")
    assert [each["outcome"] for each in await items(house, review)] == ["kept"]


async def test_of_two_administrators_silence_revokes_all_but_the_last(house: Inside) -> None:
    second = await member(house, "second", "*")
    await member(house, "kestrel", *DECIDES)
    await member(house, "raven", *DECIDES)
    review = await started(house, scope={"userIds": [1, second.user_id]})
    assert [item["finding"] for item in await items(house, review)] == [None, None]

    await close(house, review)

    settled = {item["userName"]: (item["outcome"], item["finding"]) for item in await items(house, review)}
    assert sorted(settled.values(), key=str) == [("kept", "last_administrator"), ("revoked", None)]


async def test_what_was_decided_and_can_not_be_applied_says_why(house: Inside) -> None:
    kestrel = await member(house, "kestrel", *DECIDES)
    heron = await member(house, "heron", "system:file:list")
    review = await started(house, scope={"userIds": [1, heron.user_id]})
    for item in await items(house, review):
        await decide(kestrel, review, item, "revoke")

    await close(house, review)

    settled = {item["userName"]: item for item in await items(house, review)}
    assert (settled["admin"]["outcome"], settled["heron"]["outcome"]) == ("refused", "revoked")
    assert "all permissions" in settled["admin"]["outcomeReason"]
    assert settled["admin"]["outcomeReasonCode"] == "last_full_administrator"


async def test_an_assignment_that_ended_before_is_left_alone(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    await member(house, "kestrel", *DECIDES)
    review = await started(house, heron)
    (item,) = await items(house, review)
    await house.data("DELETE", f"/api/user/{heron.user_id}/roles/{item['assignmentId']}")

    await close(house, review)

    assert (await items(house, review))[0]["outcome"] == "ended"


async def test_nothing_changes_in_a_closed_review(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, heron, onSilence="keep")
    (item,) = await items(house, review)
    await close(house, review)

    late = await decide(kestrel, review, item, "revoke")
    again = await close(house, review)

    assert [late.status, again.status] == [409, 409]
    for statement in (
        "UPDATE sys.review SET title = 'x'",
        "DELETE FROM sys.review_item",
        "UPDATE sys.review_item SET reason = 'x'",
        "INSERT INTO sys.review_item OVERRIDING SYSTEM VALUE SELECT * FROM sys.review_item",
    ):
        with pytest.raises(psycopg.errors.RaiseException):
            await execute(house, statement)


async def test_only_its_author_closes_a_review(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    other = await member(house, "other", "*")
    review = await started(house, heron)

    refused = await close(other, review)

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (403, "review", [])


async def test_whom_a_line_lets_close_reviews_of_others_needs_to_see_none(
    house: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    heron = await member(house, "heron", "system:file:list")
    closer = await member(house, "closer", "system:review:create")
    review = await started(house, heron)
    for module in (administration, endpoints):
        # As with a line "close others" for the code of the line "close own".
        monkeypatch.setattr(module, "CLOSE_OTHERS", CLOSE_OWN)

    closed = await close(closer, review)

    assert (closed.status, closed.json["data"]["closedBy"]) == (200, "closer"), closed.body


async def test_who_begins_a_review_can_grant_what_it_may_take(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    clerk = await member(house, "clerk", "system:review:create")

    refused = await start(clerk, heron)

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (
        403,
        "grant",
        ["system:file:list"],
    )


@with_each(
    ("changes", "field"),
    [
        ({"deadline": "2020-01-01T00:00:00Z"}, "deadline"),
        ({"deadline": "9999-12-31T23:59:59-12:00"}, "deadline"),
        ({"title": "Access\u202e"}, "title"),
        ({"scope": {"userIds": [999_999]}}, "scope"),
        ({"scope": {"unusedDays": 90}}, "scope"),
        ({"reviewers": {"code": "no:such:code"}}, "reviewers.code"),
    ],
)
async def test_a_review_that_can_not_be_is_refused_with_its_field(
    house: Inside, changes: dict[str, Any], field: str
) -> None:
    refused = await start(house, **({"scope": {}} | changes))

    assert refused.status == 422, refused.body
    assert [error["field"] for error in refused.json["errors"]] == [field]


async def test_a_scope_of_codes_has_the_roles_that_give_them(house: Inside) -> None:
    await member(house, "heron", "system:file:list")
    await member(house, "wild", "system:*")
    await member(house, "raven", "system:job:list")

    review = await started(house, scope={"codes": ["system:file:list"]})

    names = {item["userName"] for item in await items(house, review)}
    assert names >= {"admin", "heron", "wild"}
    assert "raven" not in names


async def test_a_review_that_the_caller_can_not_see_is_not_there_to_decide_or_close(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    stranger = await member(house, "stranger", "system:review:create")
    review = await started(house, heron, reviewers={"userIds": [1]})
    (item,) = await items(house, review)

    answers = await decide(stranger, review, item, "keep"), await close(stranger, review)

    assert [answer.status for answer in answers] == [404, 404]


@pytest.mark.parametrize("reason", ["Fine\u202e", " "])
async def test_a_decision_says_why_in_characters_that_can_be_seen(house: Inside, reason: str) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, heron)
    (item,) = await items(house, review)

    refused = await decide(kestrel, review, item, "keep", reason=reason)

    assert (refused.status, refused.fields) == (422, ["reason"])


async def test_a_review_that_can_not_be_closed_stops_no_other(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    first, second = await started(house, heron), await started(house, heron)
    await execute(
        house,
        "UPDATE sys.review_item SET decision = 'shorten', decision_time = now(), until = '10000-01-01'"
        " WHERE review_id = %s",
        first["id"],
    )
    over = "UPDATE sys.review SET deadline = now() - make_interval(secs => %s - id) WHERE state = 'open'"
    await execute(house, over, second["id"] + 1)

    await house.data("POST", "/api/jobs/review-ends/run")

    for _ in range(200):
        runs = (
            "SELECT outcome, detail FROM sys.job_run WHERE job_name = 'review-ends' ORDER BY id DESC LIMIT 1"
        )
        if (ended := await query(house, runs)) and ended[0][0] == "failed":
            break
        await asyncio.sleep(0.05)
    assert ended == [("failed", "an unexpected error: DataError")]
    shown = await house.data("GET", f"{REVIEW}/{second['id']}")
    assert (shown["state"], shown["closedBy"]) == ("closed", None)


async def test_a_dry_run_of_a_decision_changes_nothing(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    await member(house, "kestrel", *DECIDES)
    review = await started(house, heron, apply="at_once")
    (item,) = await items(house, review)
    target = f"{REVIEW}/{review['id']}/item/{item['id']}/decision"

    await house.preview("POST", target, {"decision": "revoke", "reason": "x"})

    assert (await items(house, review))[0]["decision"] is None
    assert "system:file:list" in await heron.held()


async def test_the_job_closes_a_review_at_its_deadline(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, heron)
    (item,) = await items(house, review)
    await execute(house, "UPDATE sys.review SET deadline = now() - interval '1 second' WHERE state = 'open'")

    late = await decide(kestrel, review, item, "keep")
    await house.data("POST", "/api/jobs/review-ends/run")

    assert late.status == 409
    for _ in range(200):
        shown = await house.data("GET", f"{REVIEW}/{review['id']}")
        if shown["state"] == "closed":
            break
        await asyncio.sleep(0.05)
    assert (shown["state"], shown["closedBy"]) == ("closed", None)
    assert "system:file:list" not in await heron.held()


async def decide_all(
    by: Inside | Member, review: Any, listed: list[Any], decision: str, dry_run: str = "", **body: Any
) -> Answer:
    sent = {"itemIds": [item["id"] for item in listed], "decision": decision, "reason": "Looked at them"}
    return await by.ask("POST", f"{REVIEW}/{review['id']}/decision{dry_run}", sent | body)


async def test_a_group_is_decided_by_one_request(house: Inside) -> None:
    herons = [await member(house, f"heron-{number}", "system:file:list") for number in range(11)]
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, *herons)
    listed = await items(house, review)

    answer = await decide_all(kestrel, review, listed, "keep")

    assert answer.status == 200, answer.body
    decided = answer.json["data"]["items"]
    assert [(item["id"], item["decision"]) for item in decided] == [(item["id"], "keep") for item in listed]
    assert all(len(item["decisionIds"]) == 1 for item in decided)
    assert [item["decision"] for item in await items(house, review)] == ["keep"] * 11


async def test_a_group_is_revoked_at_once_after_its_dry_run(house: Inside) -> None:
    herons = [await member(house, name, "system:file:list") for name in ("heron", "egret")]
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, *herons, apply="at_once")
    listed = await items(house, review)

    previewed = await decide_all(kestrel, review, listed, "revoke", "?dryRun=true")

    assert previewed.status == 200, previewed.body
    assert {each["roleCode"] for each in previewed.json["preview"]["loses"]} == {"heron", "egret"}
    assert [await heron.held() for heron in herons] == [{"system:file:list"}] * 2
    revoked = await decide_all(kestrel, review, listed, "revoke")
    assert [item["outcome"] for item in revoked.json["data"]["items"]] == ["revoked"] * 2
    assert [(await heron.ask("GET", "/api/file/list")).status for heron in herons] == [401, 401]
    assert [await heron.held() for heron in herons] == [set(), set()]


async def test_a_group_with_an_item_that_the_caller_may_not_decide_is_refused_as_a_whole(
    house: Inside,
) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    review, other = await started(house, heron, kestrel), await started(house, heron)
    listed = await items(house, review)
    (foreign,) = await items(house, other)

    refused = await decide_all(kestrel, review, [*listed, foreign], "keep")

    assert refused.status == 422, refused.body
    own = next(place for place, item in enumerate(listed) if item["userName"] == "kestrel")
    faults = [(error["row"], error["field"], error["code"]) for error in refused.json["errors"]]
    assert faults == [(own + 1, f"itemIds[{own}]", "permission_denied"), (3, "itemIds[2]", "not_found")]
    assert {item["decision"] for item in await items(house, review)} == {None}
    assert await items(house, other) == [foreign]


async def test_an_end_that_would_extend_one_item_of_a_group_is_a_fault_of_that_item(house: Inside) -> None:
    heron, egret = [await member(house, name, "system:file:list") for name in ("heron", "egret")]
    kestrel = await member(house, "kestrel", *DECIDES)
    soon, later, last = (rfc3339(datetime.now(UTC) + timedelta(days=days)) for days in (20, 30, 40))
    for user, end in ((heron, soon), (egret, last)):
        await house.data("PATCH", f"/api/user/{user.user_id}", {"roleIds": []})
        given = {"roleId": user.role_id, "until": end}
        await house.data("POST", f"/api/user/{user.user_id}/roles", given)
    review = await started(house, heron, egret, kestrel, apply="at_once")
    listed = await items(house, review)

    refused = await decide_all(kestrel, review, listed, "shorten", until=later)

    assert refused.status == 422, refused.body
    faults = {listed[error["row"] - 1]["userName"]: error["code"] for error in refused.json["errors"]}
    assert faults == {"heron": "validation_failed", "kestrel": "permission_denied"}
    assert {item["decision"] for item in await items(house, review)} == {None}


async def test_an_item_is_given_once_and_what_is_wrong_with_the_decision_is_said_once(house: Inside) -> None:
    heron, egret = [await member(house, name, "system:file:list") for name in ("heron", "egret")]
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, heron, egret)
    listed = await items(house, review)

    answers = [
        await decide_all(kestrel, review, [*listed, listed[0]], "keep"),
        await decide_all(kestrel, review, listed, "shorten"),
        await decide_all(kestrel, review, [], "keep"),
    ]

    assert [answer.status for answer in answers] == [422, 422, 422]
    fields = [[error["field"] for error in answer.json["errors"]] for answer in answers]
    assert fields == [["itemIds"], ["until"], ["itemIds"]]


async def test_who_may_not_see_a_review_decides_about_no_group_in_it(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    review = await started(house, heron)
    assert (await decide_all(heron, review, await items(house, review), "keep")).status == 404


async def noticed(reader: Inside | Member) -> list[tuple[str, Any]]:
    """Return kind and facts of a user's notices about reviews, the oldest first."""
    listed = (await reader.ask("GET", "/api/user/profile/notices")).json["data"]["items"]
    return [(each["kind"], each["facts"]) for each in reversed(listed) if "review" in each["kind"]]


async def test_reviewers_and_the_author_are_notified_of_a_review(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    merlin = await member(house, "merlin", *DECIDES)
    asked = {"userIds": [kestrel.user_id, heron.user_id]}
    review = await started(house, heron, reviewers=asked, onSilence="keep")
    facts = {"review": str(review["id"]), "title": review["title"], "until": review["deadline"]}
    assert await noticed(kestrel) == [("review_opened", facts)]
    await house.data("POST", "/api/jobs/review-ends/run")  # nothing ends soon
    await execute(house, "ALTER TABLE sys.review DISABLE TRIGGER USER")
    await execute(house, "UPDATE sys.review SET create_time = create_time - interval '1 day'")
    await execute(house, "ALTER TABLE sys.review ENABLE TRIGGER USER")
    for _ in range(2):
        await house.data("POST", "/api/jobs/review-ends/run")
        await until_notices(kestrel, 2)
    await close(house, review)
    kinds = ["review_opened", "review_due", "review_closed"]
    assert await noticed(kestrel) == [(kind, facts) for kind in kinds]
    for other in (heron, merlin):  # heron may not decide, and merlin was not asked
        assert await noticed(other) == []
    assert [kind for kind, _ in await noticed(house)][-1] == "review_closed"


async def until_notices(reader: Member, number: int) -> None:
    for _ in range(200):
        if len(await noticed(reader)) >= number:
            return
        await asyncio.sleep(0.05)


async def test_holders_of_the_reviewer_code_are_notified(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel, merlin = [
        await member(house, name, code)
        for name, code in (("kestrel", "system:review:decide"), ("merlin", "system:user:list"))
    ]
    await started(house, heron)
    await started(house, heron, reviewers={"code": "system:user:list"})
    assert [[kind for kind, _ in await noticed(each)] for each in (kestrel, merlin)] == [
        ["review_opened"],
        ["review_opened"],
    ]
    assert (await house.preview("POST", REVIEW, body_of(heron))) is not None
    assert len(await noticed(kestrel)) == 1
