"""What ``doctor`` says about reviews, and sign-offs in ``portcullis policy log``."""

from pathlib import Path

from service.features.operations.diagnosis.examination import examine
from service.features.reviews.checks import CHECKS
from service.settings import load
from tests.features.access_requests.test_beginnings import SECRET
from tests.features.operations.doctor.conftest import no_routes
from tests.features.reviews.test_evidence_command import run
from tests.features.reviews.test_reviews import DECIDES, decide, execute, items, started
from tests.features.reviews.test_sign_offs import newest, sign
from tests.support.inside import Inside
from tests.support.members import member

CHECK = [check for check in CHECKS if check.name == "reviews"]


async def finding(house: Inside) -> tuple[str, str]:
    stores = {"DATABASE_URL": house.database_url, "REDIS_URL": house.redis_url, "JWT_SECRET": SECRET}
    environ = {"PORTCULLIS_CONFIG": "", **stores}
    ((_, made),) = await examine(environ, load(environ), no_routes, CHECK)
    return made.state, made.message


async def test_what_nobody_may_decide_any_more_is_counted_until_it_is_decided(house: Inside) -> None:
    kestrel = await member(house, "kestrel", *DECIDES)
    raven = await member(house, "raven", *DECIDES)
    review = await started(
        house, kestrel, raven, reviewers={"userIds": [kestrel.user_id, raven.user_id]}, title="Q4"
    )
    assert (await finding(house))[0] == "ok"

    await execute(house, "DELETE FROM sys.user_role WHERE user_id = %s", raven.user_id)

    expected = f"no eligible reviewer: Q4 (review {review['id']}): 1 item"
    assert await finding(house) == ("warning", expected)
    mine = {item["userName"]: item for item in await items(house, review)}
    assert (await decide(kestrel, review, mine["raven"], "keep")).status == 200
    assert (await finding(house))[0] == "warning"
    await execute(house, "UPDATE sys.user SET status = 'disabled' WHERE id = %s", kestrel.user_id)
    assert (await finding(house))[0] == "warning"


async def test_a_review_that_is_over_and_not_closed_is_named(house: Inside) -> None:
    await house.data("PUT", "/api/jobs/review-ends/paused", {"paused": True})  # the scheduler would close it
    kestrel = await member(house, "kestrel", *DECIDES)
    review = await started(house, kestrel, title="Q4")
    for minutes, state in ((9, "ok"), (11, "warning")):
        await execute(
            house,
            "UPDATE sys.review SET deadline = now() - make_interval(mins => %s) WHERE id = %s",
            minutes,
            review["id"],
        )
        assert (await finding(house))[0] == state
    assert (await finding(house))[1] == f"over, but not closed: Q4 (review {review['id']})"


async def test_sign_offs_are_printed_with_their_revision(house: Inside, tmp_path: Path) -> None:
    assert await sign(house, await newest(house)) == 200

    printed = await run(house, tmp_path, "policy", "log")

    assert "by admin, reviewed 2026-Q4: nothing to say" in printed.output, printed
