"""Without reviews nobody is asked, what they have taken stays taken, and no review is left hanging."""

import asyncio
from pathlib import Path

import psycopg
import pytest

from service.administration.jobs import all_jobs
from service.authz.engine.rules import REVIEW, Rule
from service.features.operations.checks import checks_for
from service.kernel.request_objects import assignment_for
from service.operator.errors import UnpreparedError
from service.server.prepare import check, publish_policy
from service.settings import load
from tests.features.reviews.test_evidence import archive_and_heads
from tests.features.reviews.test_reviews import DECIDES, close, decide, items, started
from tests.features.reviews.test_sign_offs import newest, sign
from tests.support.databases import NewDatabase
from tests.support.inside import inside_published, settings_of
from tests.support.members import member
from tests.support.running import portcullis

OFF = {"PORTCULLIS_FEATURES__OFF": "reviews"}
CODE = "system:user:list"
LINE = str(Rule(REVIEW, assignment_for("others", CODE), CODE))
ABSENT = (
    ("GET", "/api/review/list"),
    ("POST", "/api/review"),
    ("GET", "/api/review/1"),
    ("POST", "/api/review/1/close"),
    ("GET", "/api/review/1/evidence"),
    ("GET", "/api/policy/unused"),
    ("GET", "/api/policy/changes?since=1"),
    ("POST", "/api/policy/revisions/1/sign-off"),
)


async def test_what_reviews_have_taken_stays_taken_and_their_lines_stay_published(
    new_database: NewDatabase, published_template: str, redis_url: str, tmp_path: Path
) -> None:
    url = new_database(published_template)
    async with inside_published(url, redis_url) as house:
        heron = await member(house, "heron", "system:file:list")
        kestrel = await member(house, "kestrel", *DECIDES, CODE)
        assert await sign(house, await newest(house)) == 200
        review = await started(house, heron, reviewers={"code": CODE}, apply="at_once")
        (item,) = await items(house, review)
        assert (await decide(kestrel, review, item, "revoke")).status == 200
        await close(house, review)
        data, _ = await archive_and_heads(house, review)
        before = await house.data("GET", "/api/policy?size=1000")
    (tmp_path / "review.zip").write_bytes(data)

    async with inside_published(url, redis_url, **OFF) as without:
        for method, path in ABSENT:
            answer = await without.ask(method, path, {} if method == "POST" else None)
            assert (answer.status, answer.json["code"]) == (404, "not_found"), path
        roles = await without.data("GET", f"/api/user/{heron.user_id}/roles")
        assert [each["roleCode"] for each in roles["items"]] == []
        policy = await without.data("GET", "/api/policy?size=1000")
        assert (policy["revision"], policy["digest"]) == (before["revision"], before["digest"])
        assert LINE in policy["rules"]
        signed = [each["signOffs"] for each in (await without.data("GET", "/api/policy/revisions"))["items"]]
        assert [each["userName"] for signs in signed for each in signs] == ["admin"]
        shown = await without.data("GET", f"/api/policy/revisions/{policy['revision']}")
        assert shown["samePerson"] is None
    verified = await asyncio.to_thread(
        portcullis, tmp_path, "audit", "verify", "--evidence", str(tmp_path / "review.zip"), **OFF
    )
    assert verified.status == 0, verified


def test_a_start_refuses_while_a_review_is_not_closed(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url = new_database(published_template)
    chosen = settings_of(url, redis_url, OFF)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO sys.review (title, scope, on_silence, apply, deadline, author_id, author_name,"
            " roles, policy_revision, create_time)"
            " VALUES ('Access', '{}', 'keep', 'at_end', now(), 1, 'admin', '{}', 1, now())"
        )
        for step in ("state = 'closing', close_time = now()", "state = 'closed', end_time = now()"):
            with pytest.raises(UnpreparedError, match=r"features\.off names reviews, but reviews .* \(1 in"):
                publish_policy(chosen, check(chosen))
            connection.execute(f"UPDATE sys.review SET {step}")
    publish_policy(chosen, check(chosen))


def test_its_job_and_its_checks_are_absent() -> None:
    for off, present in ((OFF, False), ({}, True)):
        chosen = load({"PORTCULLIS_CONFIG": "", **off})
        assert ("review-ends" in {job.name for job in all_jobs(chosen)}) is present
        checks = {each.name for each in checks_for(chosen.features.off)}
        assert [name in checks for name in ("reviews", "unused-rights")] == [present, present]
