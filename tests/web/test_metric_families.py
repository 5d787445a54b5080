"""What a worker shows before anything has happened."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime

import pytest

from service.app.installation_samples import InDatabase, samples_of_database, samples_of_store
from service.app.worker_samples import worker_samples
from service.kernel.metrics import Durations, Sample
from service.keyspace import LogQueue
from service.records.backups import Standing
from service.records.jobs import StoredJob
from service.records.logs.verifications import Verification
from service.records.policy_workers import PolicyWorker
from service.web.observability.families import FAMILIES, OF_ALL
from tests.support.unstarted import unstarted

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
)
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
    for sample in (*samples_of_database(FOUND), *samples_of_store(4, LogQueue(2, 300, 1.5), 1_000)):
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
    assert layers == {"resource", "endpoint", "grant", "service", "account"}
    statuses = {sample.labels["status"] for sample in samples["portcullis_http_responses_total"]}
    assert {"0", "200", "401", "403", "429", "500", "503"} <= statuses


def test_a_duration_is_in_its_bucket_and_in_all_larger_ones() -> None:
    durations = Durations()
    for seconds in (0.001, 0.0011, 9.0):
        durations.observe(seconds)
    buckets = {sample.labels.get("le", sample.name): sample.value for sample in durations.samples("d", {})}
    assert (buckets["0.001"], buckets["0.0025"], buckets["2.5"], buckets["+Inf"]) == (1, 2, 2, 3)
    assert (buckets["d_count"], round(buckets["d_sum"], 4)) == (3, 9.0021)
