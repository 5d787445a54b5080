"""The decision log of a whole service."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from service.audit.chain.revision_seals import RevisionSeals
from service.audit.decision_event import decoded
from service.authz.publishing.shipped import read_shipped
from service.authz.review.past import PastPolicies
from service.authz.review.sources import read_policy, source_named
from service.laboratory.replay import replay
from service.records.database.transactions import Database
from tests.support.inside import inside_published
from tests.web.test_metrics import TOKEN, value

AUDITOR = 3
"""The id of the seeded role."""

pytestmark = pytest.mark.anyio


async def test_refusals_and_allowed_requests_are_in_the_file_and_counted(
    published_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "decisions.jsonl"
    chosen = {
        "PORTCULLIS_POLICY__DECISION_LOG": str(path),
        "PORTCULLIS_POLICY__DECISION_LOG_ALLOWS": "1",
        "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN,
    }
    async with inside_published(published_database_url, redis_url, **chosen) as service:
        new_user = {"userName": "bob", "nickName": "Bob", "password": "a-Long-enough-1"}
        await service.data("POST", "/api/user", {**new_user, "roleIds": [AUDITOR]})
        token = await service.log_in("bob", "a-Long-enough-1")
        denied = await service.ask("DELETE", "/api/user/1", token=token)
        assert denied.status == 403
        text = (await service.ask("GET", "/metrics", None, token=TOKEN)).body.decode()
        assert value(text, "portcullis_decision_events_total", outcome="dropped") == 0

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    events = [event for line in path.read_bytes().splitlines() if (event := decoded(line)) is not None]
    assert [(entry.outcome, entry.route, entry.user_id) for entry in events[:2]] == [
        ("allow", "/api/auth/login", None),
        ("allow", "/api/user", 1),
    ]
    assert (events[-1].decision, events[-1].path) == (denied.json["decisionId"], "/api/user/1")
    assert (events[-1].outcome, events[-1].layer, events[-1].roles) == ("deny", "endpoint", ("auditor",))
    assert [grant.needed for grant in events[1].grants] == ["all"]
    assert "system:policy:read" in events[1].grants[0].codes
    for secret in (b"a-Long-enough-1", token.encode(), (service.token or "none").encode()):
        assert secret not in path.read_bytes()

    database = Database(published_database_url)
    policy = await read_policy(source_named("1"), PastPolicies(read_shipped(), RevisionSeals()), database)
    await database.close()
    with path.open("rb") as lines:
        answer = replay(policy, lines)
    assert (answer.events, answer.differing) == (len(events), 0)
