"""Who sees a review and decides in it: it takes the code of the review alone, whose line is published."""

from typing import Any

from tests.features.explain.test_refusals_by_id import known
from tests.features.reviews.test_reviews import DECIDES, REVIEW, after, decide, execute, items, start, started
from tests.support.inside import Inside
from tests.support.members import Member, member


async def test_the_code_of_the_review_alone_lists_reads_and_decides(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    owner = await member(house, "owner", "system:file:delete")
    usual = await started(house, heron)
    coded = await started(house, heron, reviewers={"code": "system:file:delete"}, apply="at_once")

    listed = await owner.ask("GET", f"{REVIEW}/list")
    read = await owner.ask("GET", f"{REVIEW}/{coded['id']}")
    page = await owner.ask("GET", f"{REVIEW}/{coded['id']}/item/list")
    (item,) = page.json["data"]["items"]
    decided = await decide(owner, coded, item, "revoke")

    assert [each["id"] for each in listed.json["data"]["items"]] == [coded["id"]]
    assert (read.status, read.json["data"]["reviewerCode"]) == (200, "system:file:delete")
    assert (decided.status, decided.json["data"]["outcome"]) == (200, "revoked"), decided.body
    assert await heron.held() == set()
    for hidden in (f"{REVIEW}/{usual['id']}", f"{REVIEW}/{usual['id']}/item/list"):
        assert (await owner.ask("GET", hidden)).status == 404


async def test_the_usual_code_alone_lists_reads_and_decides_in_reviews_without_another(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", "system:review:decide")
    usual = await started(house, heron)
    await started(house, heron, reviewers={"code": "system:file:delete"})

    listed = (await kestrel.ask("GET", f"{REVIEW}/list")).json["data"]
    page = await kestrel.ask("GET", f"{REVIEW}/{usual['id']}/item/list")
    (item,) = page.json["data"]["items"]

    assert ([each["id"] for each in listed["items"]], listed["total"]) == ([usual["id"]], 1)
    assert (await decide(kestrel, usual, item, "keep")).status == 200


async def waits(person: Member, review: Any) -> tuple[bool, int]:
    """Return what the review itself says of who reads it."""
    shown = (await person.ask("GET", f"{REVIEW}/{review['id']}")).json["data"]
    return shown["mayDecide"], shown["waiting"]


async def test_who_lacks_the_code_of_the_review_or_is_not_asked_decides_nothing(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    owner = await member(house, "owner", *DECIDES, "system:file:delete")
    coded = await started(house, heron, reviewers={"code": "system:file:delete"})
    narrowed = await started(house, heron, reviewers={"userIds": [owner.user_id]})
    both = await started(house, heron, reviewers={"code": "system:file:delete", "userIds": [kestrel.user_id]})

    for refused, by, required in (
        (coded, kestrel, ["system:file:delete"]),
        (both, kestrel, ["system:file:delete"]),
        (narrowed, kestrel, []),
        (both, owner, []),
    ):
        answer = await decide(by, refused, (await items(house, refused))[0], "keep")
        assert (answer.status, answer.json["layer"], answer.json["required"]) == (403, "review", required)
        assert await waits(by, refused) == (False, 0)
    for review in (coded, narrowed):
        assert await waits(owner, review) == (True, 1)
        assert (await decide(owner, review, (await items(house, review))[0], "keep")).status == 200


async def test_only_its_author_reviewers_and_who_reads_all_see_a_review(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    author = await member(house, "author", "system:review:create", "system:file:list")
    asked = await member(house, "asked", "system:review:decide")
    unasked = await member(house, "unasked", "system:review:decide")
    reader = await member(house, "reader", "system:review:list")
    review = await started(author, heron, reviewers={"userIds": [asked.user_id]})

    seen = {}
    for person in (heron, author, asked, unasked, reader):
        read = await person.ask("GET", f"{REVIEW}/{review['id']}")
        page = await person.ask("GET", f"{REVIEW}/{review['id']}/item/list")
        listed = (await person.ask("GET", f"{REVIEW}/list")).json["data"]["total"]
        seen[person.name] = (read.status, page.status, listed)

    may, may_not = (200, 200, 1), (404, 404, 0)
    assert seen == {"heron": may_not, "author": may, "asked": may, "unasked": may_not, "reader": may}


BY_CODE = "assignment for others by system:file:delete"


async def newest(house: Inside) -> Any:
    return (await house.data("GET", "/api/policy/revisions?size=1"))["items"][0]


async def test_the_first_review_with_a_code_publishes_its_line_and_others_publish_nothing(
    house: Inside,
) -> None:
    heron = await member(house, "heron", "system:file:list")
    await member(house, "owner", "system:file:delete")
    before = await newest(house)

    await started(house, heron, reviewers={"code": "system:file:delete"})
    first = await newest(house)
    await started(house, heron, reviewers={"code": "system:file:delete"})
    await started(house, heron)
    who = await house.data("GET", f"/api/policy/who?layer=review&object={BY_CODE.replace(' ', '%20')}")

    assert first["revision"] == before["revision"] + 1
    assert (first["added"], first["removed"]) == (1, 0)
    assert "review begun with reviewers of system:file:delete" in first["cause"]
    assert (await newest(house))["revision"] == first["revision"]
    passing = {role["roleCode"]: role["asked"]["line"] for role in who["items"]}
    assert passing["owner"] == f"p, review, {BY_CODE}, system:file:delete"
    assert "heron" not in passing


async def test_a_dry_run_of_a_review_tells_who_would_decide_and_begins_and_publishes_nothing(
    house: Inside,
) -> None:
    heron = await member(house, "heron", "system:file:list")
    await member(house, "owner", "system:file:delete")
    before = await newest(house)
    body = {
        "title": "Access 2026-Q4",
        "scope": {"userIds": [heron.user_id]},
        "reviewers": {"code": "system:file:delete"},
        "deadline": after(3600),
        "onSilence": "revoke",
        "apply": "at_end",
    }

    preview = await house.preview("POST", REVIEW, body)

    gained = {change["roleCode"]: change["access"] for change in preview["gains"]}
    assert gained["owner"] == [f"review {BY_CODE}"]
    assert await newest(house) == before
    assert (await house.data("GET", f"{REVIEW}/list"))["total"] == 0


async def test_the_first_review_with_a_code_waits_until_all_workers_know_reviews(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    facts = '{"version": "0.2.0", "settings": {}, "parts": {}, "layers": ["resource"]}'
    insert = "INSERT INTO sys.policy_worker (worker, revision, facts) VALUES ('other:1', 1, %s)"
    await execute(house, insert, facts)

    refused = await start(house, heron, reviewers={"code": "system:file:delete"})
    await execute(house, "DELETE FROM sys.policy_worker WHERE worker = 'other:1'")

    assert (refused.status, refused.json["rule"]) == (409, "older_nodes"), refused.body
    await started(house, heron, reviewers={"code": "system:file:delete"})


async def test_a_refused_decision_is_explained_by_its_id(house: Inside) -> None:
    heron = await member(house, "heron", "system:file:list")
    kestrel = await member(house, "kestrel", *DECIDES)
    coded = await started(house, heron, reviewers={"code": "system:file:delete"})

    refused = await decide(kestrel, coded, (await items(house, coded))[0], "keep")
    explained = await known(house, refused)

    assert explained["asked"]["object"] == BY_CODE, explained
    assert explained["asked"]["decisionId"] == refused.json["decisionId"]
