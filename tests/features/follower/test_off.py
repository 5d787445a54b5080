"""Without followers no renewal is answered, and no setting says that somebody is waited for."""

import pytest

from service.settings import SettingsError, load
from tests.support.databases import NewDatabase
from tests.support.inside import inside_published

SCRAPES = "a-token-of-forty-characters-for-scrapes"
OFF = {"PORTCULLIS_FEATURES__OFF": "follower", "PORTCULLIS_SERVER__METRICS_TOKEN": SCRAPES}


async def test_nobody_can_follow_and_questions_are_answered_all_the_same(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    renewal = {"follower": "orders-1", "services": ["orders"], "nonce": "f3b1c2", "names": "A" * 22}
    question = {
        "subject": {"type": "user", "id": "admin"},
        "action": {"name": "GET"},
        "resource": {"type": "route", "id": "/api/role/list"},
    }
    url = new_database(published_template)
    scrape = ("Authorization", f"Bearer {SCRAPES}")
    async with inside_published(url, redis_url, PORTCULLIS_SERVER__METRICS_TOKEN=SCRAPES) as service:
        assert b"\nportcullis_followers 0\n" in (await service.as_anonymous("GET", "/metrics", scrape)).body
    async with inside_published(url, redis_url, **OFF) as service:
        for method, path, body in (
            ("POST", "/access/v1/follow", renewal),
            ("GET", "/api/policy/followers", None),
        ):
            answer = await service.ask(method, path, body)
            assert (answer.status, answer.json["code"]) == (404, "not_found")
        assert (await service.ask("POST", "/access/v1/evaluation", question)).json["decision"] is True
        metrics = (await service.as_anonymous("GET", "/metrics", scrape)).body
        assert b"\nportcullis_sessions_open " in metrics
        assert b"\nportcullis_followers" not in metrics


@pytest.mark.parametrize("off", ["follower", "all"])
def test_changes_that_would_wait_for_followers_are_refused_at_the_start(off: str) -> None:
    with pytest.raises(SettingsError, match=r"policy\.await_followers.* needs the feature follower"):
        load({"PORTCULLIS_FEATURES__OFF": off, "PORTCULLIS_POLICY__AWAIT_FOLLOWERS": "2"})
    assert load({"PORTCULLIS_POLICY__AWAIT_FOLLOWERS": "2"}).policy.await_followers == 2.0
