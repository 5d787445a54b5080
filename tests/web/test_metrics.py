"""What is counted, how workers share it, how it is told, and to whom."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from time import monotonic

import pytest

from service.authz.publishing.shipped import read_shipped
from service.embedded import EmbeddedStores
from service.kernel.metrics import Sample
from service.web.observability.exposition import exposition
from service.web.observability.shared_metrics import FRESH, LONGEST, SharedMetrics
from tests.support.inside import inside_published
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

pytestmark = pytest.mark.anyio

TOKEN = "mX3-" * 8


def value(text: str, name: str, **labels: str) -> float:
    """Return the one number of a metric whose labels include ``labels``."""
    required = [f'{label}="{value}"' for label, value in labels.items()]
    lines = [line for line in text.splitlines() if re.match(rf"{name}[{{ ]", line)]
    (match,) = [line for line in lines if all(label in line for label in required)]
    return float(match.rsplit(" ", 1)[1])


async def test_requests_denials_and_durations_are_counted_by_route_and_unknown_paths_as_one(
    published_database_url: str, redis_url: str
) -> None:
    async with inside_published(
        published_database_url, redis_url, PORTCULLIS_SERVER__METRICS_TOKEN=TOKEN
    ) as service:
        await service.ask("GET", "/api/user/info")
        await service.ask("GET", "/api/user/info")
        await service.ask("GET", "/api/role/list?size=0")
        for number in range(5):
            await service.ask("GET", f"/no/such/{number}")
        text = (await service.ask("GET", "/metrics", None, token=TOKEN)).body.decode()

    requests = "portcullis_http_requests_total"
    assert value(text, requests, method="GET", route="/api/user/info", status="200") == 2
    assert value(text, requests, route="/api/role/list", status="422") == 1
    assert value(text, requests, route="other", status="404") == 5
    duration = "portcullis_http_request_duration_seconds"
    assert value(text, f"{duration}_count", route="/api/user/info") == 2
    assert value(text, f"{duration}_bucket", route="/api/user/info", le="+Inf") == 2
    assert 0 < value(text, f"{duration}_sum", route="/api/user/info") < 60
    assert value(text, "portcullis_policy_revision") == 1
    assert value(text, "portcullis_policy_static_info", digest=read_shipped().digest) == 1
    assert value(text, "portcullis_policy_workers_differing") == 0
    assert abs(value(text, "portcullis_clock_offset_seconds")) < 1
    assert value(text, "portcullis_resident_memory_bytes") > 10_000_000
    assert "/no/such" not in text
    assert value(text, "portcullis_sessions_open") == 1
    assert value(text, "portcullis_policy_newest_revision") == 1
    assert value(text, "portcullis_policy_workers") == 1
    assert value(text, "portcullis_policy_workers_behind") == 0
    assert value(text, "portcullis_log_chain_entries", log="login_log") >= 0
    assert value(text, "portcullis_log_queue_entries") >= 0
    assert value(text, "portcullis_job_failing", job_name="log-verification") == 0


async def test_sign_ins_are_counted_by_how_they_ended(published_database_url: str, redis_url: str) -> None:
    variables = {"PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN, "PORTCULLIS_THROTTLE__LOGIN_ACCOUNT": "2"}
    async with inside_published(published_database_url, redis_url, **variables) as service:

        async def tried(user_name: str, password: str) -> int:
            credentials = {"userName": user_name, "password": password}
            return (await service.ask("POST", "/api/auth/login", credentials)).status

        async def refreshed(token: str) -> int:
            return (await service.ask("POST", "/api/auth/refresh", {"refreshToken": token})).status

        credentials = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
        pair = await service.data("POST", "/api/auth/login", credentials)
        service.token = pair["accessToken"]
        for status in (401, 401, 429):
            assert await tried("nobody", "wrong-password") == status
        assert await refreshed(pair["refreshToken"]) == 200
        assert await refreshed("no token") == 401
        await service.data("POST", "/api/auth/logout")
        text = (await service.ask("GET", "/metrics", None, token=TOKEN)).body.decode()

    # The first login, by which the service was given its token, was on the same device.
    assert value(text, "portcullis_logins_total", outcome="success") == 2
    assert value(text, "portcullis_logins_total", outcome="login_failed") == 2
    assert value(text, "portcullis_logins_total", outcome="rate_limited") == 1
    assert value(text, "portcullis_throttled_total", limit="login") == 1
    assert value(text, "portcullis_refreshes_total", outcome="rotated") == 1
    assert value(text, "portcullis_refreshes_total", outcome="token_invalid") == 1
    assert value(text, "portcullis_session_events_total", event="evict") == 1
    assert value(text, "portcullis_session_events_total", event="logout") == 1
    assert value(text, "portcullis_database_connections_limit", pool="requests") == 5
    assert value(text, "portcullis_database_call_duration_seconds_count", pool="requests") > 0
    assert value(text, "portcullis_database_failures_total", pool="requests") == 0
    assert value(text, "portcullis_session_store_call_duration_seconds_count", call="check") >= 1


async def test_callers_without_the_token_read_nothing(published_database_url: str, redis_url: str) -> None:
    async with inside_published(
        published_database_url, redis_url, PORTCULLIS_SERVER__METRICS_TOKEN=TOKEN
    ) as service:
        for header in (("X-None", ""), ("Authorization", "Bearer "), ("Authorization", f"Bearer {TOKEN}x")):
            answer = await service.as_anonymous("GET", "/metrics", header)
            assert (answer.status, answer.code) == (401, "unauthenticated")
        assert (await service.ask("GET", "/metrics")).status == 401  # with the administrator's access token


async def test_without_a_token_in_the_settings_there_are_no_metrics(
    published_database_url: str, redis_url: str
) -> None:
    async with inside_published(published_database_url, redis_url) as service:
        for token in ("", "Bearer "):
            answer = await service.as_anonymous("GET", "/metrics", ("Authorization", token))
            assert (answer.status, answer.code) == (404, "not_found")


async def test_without_the_store_a_worker_tells_its_own(
    own_stores: EmbeddedStores, published_database_url: str
) -> None:
    async with inside_published(
        published_database_url, own_stores.redis_url, PORTCULLIS_SERVER__METRICS_TOKEN=TOKEN
    ) as service:
        own_stores.valkey.stop()
        assert (await service.ask("GET", "/api/user/info")).status == 503
        answer = await service.ask("GET", "/metrics", None, token=TOKEN)
        assert answer.status == 200
        text = answer.body.decode()
        assert value(text, "portcullis_policy_revision") == 1
        assert value(text, "portcullis_http_responses_total", status="503") == 1
        assert value(text, "portcullis_session_store_failures_total", call="check") >= 1


def test_samples_of_a_metric_stand_together_and_labels_can_not_break_out() -> None:
    text = exposition(
        [
            Sample("portcullis_denials_total", 1, {"layer": "endpoint"}),
            Sample("portcullis_policy_revision", 7, {"worker": 'a"\n\\'}),
            Sample("portcullis_denials_total", 2.5, {"layer": "resource"}),
        ]
    ).decode()
    assert text == (
        "# HELP portcullis_denials_total Requests denied by the policy, by layer.\n"
        "# TYPE portcullis_denials_total counter\n"
        'portcullis_denials_total{layer="endpoint"} 1\n'
        'portcullis_denials_total{layer="resource"} 2.5\n'
        "# HELP portcullis_policy_revision The policy revision that the worker uses.\n"
        "# TYPE portcullis_policy_revision gauge\n"
        'portcullis_policy_revision{worker="a\\"\\n\\\\"} 7\n'
    )


@pytest.fixture
def board() -> Iterator[SharedMetrics]:
    made = SharedMetrics(2)
    yield made
    made.close()


def test_a_slot_has_the_latest_snapshot_and_none_after_its_worker_has_left(board: SharedMetrics) -> None:
    assert board.read() == {}
    for text in (b"first", b"second", b"third"):
        board.write(1, text)
        assert board.read() == {1: text}
    board.write(2, b"other")
    assert board.read() == {1: b"third", 2: b"other"}
    board.clear(1)
    assert board.read() == {2: b"other"}


def test_a_snapshot_that_is_half_written_leaves_the_one_before(
    board: SharedMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.pwrite
    board.write(1, b"whole")
    monkeypatch.setattr(os, "pwrite", lambda file, text, place: write(file, text[:-3], place))
    board.write(1, b"broken off")
    assert board.read() == {1: b"whole"}


def test_a_worker_that_is_silent_counts_as_gone(
    board: SharedMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.write(1, b"once")
    now = monotonic()
    monkeypatch.setattr("service.web.observability.shared_metrics.monotonic", lambda: now + FRESH - 1)
    assert board.read() == {1: b"once"}
    monkeypatch.setattr("service.web.observability.shared_metrics.monotonic", lambda: now + FRESH + 1)
    assert board.read() == {}


def test_a_snapshot_that_has_no_room_is_refused_and_leaves_the_one_before(board: SharedMetrics) -> None:
    board.write(1, b"fits")
    with pytest.raises(ValueError, match="has no room"):
        board.write(1, bytes(LONGEST + 1))
    assert board.read() == {1: b"fits"}
