"""What is counted, also before anything has happened, how workers share it, and who is told."""

import asyncio
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from time import monotonic

import pytest

from service.authz.engine.rules import DENYING
from service.authz.publishing.shipped import read_shipped
from service.features.access_requests.parts import samples_of_emergencies
from service.features.audit_proof.store_chain import Verification
from service.features.embedded.stores import EmbeddedStores
from service.features.follower.followers import FollowerFacts
from service.features.follower.parts import samples_of_followers
from service.features.metrics.families import FAMILIES, OF_ALL
from service.features.metrics.installation_samples import InDatabase, samples_of_database, samples_of_store
from service.features.metrics.shared_metrics import FRESH, LONGEST, SharedMetrics
from service.features.metrics.worker_metrics import WorkerMetrics
from service.features.metrics.worker_samples import worker_samples
from service.features.notices.store_mail import MailStanding
from service.features.operations.store import Standing
from service.features.operations.store_jobs import StoredJob
from service.kernel.metrics import Durations, Sample
from service.kernel.worker_slot import Slot
from service.keyspace import LogQueue
from service.records.published.policy_workers import PolicyWorker
from service.web.observability.exposition import exposition
from tests.support.inside import inside_published
from tests.support.inside_fixtures import ServiceWith
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.unstarted import unstarted
from tests.support.waiting import eventually_here
from tests.support.without import GONE

TOKEN = "mX3-" * 8


def value(text: str, name: str, **labels: str) -> float:
    """Return the one number of a metric whose labels include ``labels``."""
    required = [f'{label}="{value}"' for label, value in labels.items()]
    lines = [line for line in text.splitlines() if re.match(rf"{name}[{{ ]", line)]
    (match,) = [line for line in lines if all(label in line for label in required)]
    return float(match.rsplit(" ", 1)[1])


async def test_requests_denials_and_durations_are_counted_by_route_and_unknown_paths_as_one(
    service_with: ServiceWith,
) -> None:
    async with service_with(PORTCULLIS_SERVER__METRICS_TOKEN=TOKEN) as service:
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
    assert value(text, "portcullis_policy_static_info", digest=read_shipped(off=GONE).digest) == 1
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


async def test_sign_ins_are_counted_by_how_they_ended(service_with: ServiceWith) -> None:
    variables = {"PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN, "PORTCULLIS_THROTTLE__LOGIN_ACCOUNT": "2"}
    async with service_with(**variables) as service:

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


async def test_callers_without_the_token_read_nothing(service_with: ServiceWith) -> None:
    async with service_with(PORTCULLIS_SERVER__METRICS_TOKEN=TOKEN) as service:
        for header in (("X-None", ""), ("Authorization", "Bearer "), ("Authorization", f"Bearer {TOKEN}x")):
            answer = await service.as_anonymous("GET", "/metrics", header)
            assert (answer.status, answer.code) == (401, "unauthenticated")
        assert (await service.ask("GET", "/metrics")).status == 401  # with the administrator's access token


async def test_without_a_token_in_the_settings_there_are_no_metrics(service_with: ServiceWith) -> None:
    async with service_with() as service:
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
        ],
        FAMILIES,
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
    monkeypatch.setattr("service.features.metrics.shared_metrics.monotonic", lambda: now + FRESH - 1)
    assert board.read() == {1: b"once"}
    monkeypatch.setattr("service.features.metrics.shared_metrics.monotonic", lambda: now + FRESH + 1)
    assert board.read() == {}


def test_a_snapshot_that_has_no_room_is_refused_and_leaves_the_one_before(board: SharedMetrics) -> None:
    board.write(1, b"fits")
    with pytest.raises(ValueError, match="has no room"):
        board.write(1, bytes(LONGEST + 1))
    assert board.read() == {1: b"fits"}


NOW = datetime(2026, 11, 22, tzinfo=UTC)
FOUND = InDatabase(
    newest=7,
    tamperings=0,
    workers=[
        PolicyWorker("a", 7, None, NOW, "d", {"version": "1", "settings": {"auth": "x"}, "parts": {}}),
        PolicyWorker("b", 6, None, NOW, "d", {"version": "1", "settings": {"auth": "y"}, "parts": {}}),
        PolicyWorker("c", 7, None, NOW, "d"),
    ],
    jobs=[
        StoredJob("late", False, -30.0, NOW, None, True, None),
        StoredJob("held", True, -30.0, NOW, None, True, NOW),
    ],
    entries={"operation_log": 5, "login_log": 0},
    verified=[Verification("operation_log", NOW, 3, 1)],
    backup=Standing(None, 60.0),
    mails=MailStanding(2, 1, 90.0, 0, None),
)
FOLLOWERS = [
    FollowerFacts(str(number), 7, "pdp", ("orders",), revision, "", 0, seen, 2.0)
    for number, (revision, seen) in enumerate([(12, 99.5), (11, 98.5), (0, 99.0), (9, 98.0)])
]
BY_ROUTE = {"portcullis_http_requests_total", "portcullis_http_request_duration_seconds"}
RESERVED = {"worker", "instance", "job"}  # ours for all metrics, and what Prometheus adds to each series
PARTS = re.compile("_(bucket|sum|count)$")


@pytest.fixture(scope="module")
def samples() -> dict[str, list[Sample]]:
    """Return the samples of a worker that was never started, by metric."""
    by_name = defaultdict(list)
    with unstarted() as container:
        for sample in worker_samples(container):
            name = sample.name if sample.name in FAMILIES else PARTS.sub("", sample.name)
            by_name[name].append(sample)
    of_store = (*samples_of_store(4, LogQueue(2, 300, 1.5), 1_000), *samples_of_followers(FOLLOWERS, 100.0))
    for sample in (*samples_of_database(FOUND), *samples_of_emergencies(0), *of_store):
        by_name[sample.name].append(sample)
    return by_name


def test_every_metric_of_the_installation_is_told(samples: dict[str, list[Sample]]) -> None:
    assert samples.keys() >= OF_ALL.keys()
    values = {
        (sample.name, *sample.labels.values()): sample.value for name in OF_ALL for sample in samples[name]
    }
    prefix = "portcullis_"
    assert values[prefix + "policy_workers",] == 3
    assert values[prefix + "policy_workers_behind",] == 1
    assert values[prefix + "log_queue_oldest_seconds",] == 1.5
    assert values[prefix + "log_verification_faulty_days", "operation_log"] == 1
    assert values[prefix + "backup_overdue_seconds",] == 60
    # The third worker is of a version that reports none, and no settings.
    assert values[prefix + "node_variants", "version"] == values[prefix + "node_variants", "settings"] == 2
    # The last one has no lease any more, and the one before it has only begun.
    assert values[prefix + "followers",] == 3
    assert values[prefix + "followers_lapsed",] == 1
    assert values[prefix + "followers_lowest_revision",] == 11
    # A paused job is neither late nor failing: somebody has decided so.
    assert values[prefix + "job_overdue_seconds", "late"] == 30
    assert values[prefix + "job_overdue_seconds", "held"] == 0
    assert values[prefix + "job_failing", "held"] == 0


def test_what_has_never_happened_is_there_at_0(samples: dict[str, list[Sample]]) -> None:
    values = {
        (sample.name, *sample.labels.values()): sample.value for name in OF_ALL for sample in samples[name]
    }
    prefix = "portcullis_"
    assert values[prefix + "job_success_timestamp_seconds", "late"] == 0
    assert values[prefix + "backup_timestamp_seconds",] == 0
    for name in ("timestamp_seconds", "days", "faulty_days"):
        assert values[f"{prefix}log_verification_{name}", "login_log"] == 0


def test_every_counter_and_histogram_is_there_at_0_before_its_first_event(
    samples: dict[str, list[Sample]],
) -> None:
    counters = {name for name, family in FAMILIES.items() if family.kind != "gauge"} - BY_ROUTE
    assert counters <= samples.keys()
    moving = {"portcullis_cpu_seconds_total"}
    assert {sample.value for name in counters - moving for sample in samples[name]} == {0}


def test_every_sample_has_the_labels_of_its_metric(samples: dict[str, list[Sample]]) -> None:
    for name, group in samples.items():
        for sample in group:
            assert set(sample.labels) - {"le"} == set(FAMILIES[name].labels), sample


def test_names_follow_the_conventions() -> None:
    for name, family in FAMILIES.items():
        assert re.fullmatch("portcullis_[a-z][a-z_]*[a-z]", name)
        assert name.endswith("_total") == (family.kind == "counter"), name
        assert "milliseconds" not in name
        assert family.help.endswith(".")
        assert RESERVED.isdisjoint(family.labels), name


def test_denials_and_statuses_are_counted_from_the_start(samples: dict[str, list[Sample]]) -> None:
    layers = {sample.labels["layer"] for sample in samples["portcullis_denials_total"]}
    assert layers == {*DENYING}
    statuses = {sample.labels["status"] for sample in samples["portcullis_http_responses_total"]}
    assert {"0", "200", "401", "403", "429", "500", "503"} <= statuses


def test_a_duration_is_in_its_bucket_and_in_all_larger_ones() -> None:
    durations = Durations()
    for seconds in (0.001, 0.0011, 9.0):
        durations.observe(seconds)
    buckets = {sample.labels.get("le", sample.name): sample.value for sample in durations.samples("d", {})}
    assert (buckets["0.001"], buckets["0.0025"], buckets["2.5"], buckets["+Inf"]) == (1, 2, 2, 3)
    assert (buckets["d_count"], round(buckets["d_sum"], 4)) == (3, 9.0021)


def _has_gone_on(running: asyncio.Task[None], board: SharedMetrics) -> bool:
    return running.done() or board.read() != {}


async def test_a_worker_leaves_snapshots_for_others_only() -> None:
    for slots in (1, 2):
        board = SharedMetrics(slots)
        metrics = WorkerMetrics(Slot(1, {"metrics": board}))
        running = asyncio.create_task(metrics.run())
        assert await eventually_here(partial(_has_gone_on, running, board))
        assert set(board.read()) == ({1} if slots > 1 else set())
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        board.close()
