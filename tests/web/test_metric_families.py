"""What a worker shows before anything has happened."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from service.app.worker_samples import worker_samples
from service.kernel.metrics import Durations, Sample
from service.web.observability.families import FAMILIES
from tests.support.unstarted import unstarted

BY_ROUTE = {"portcullis_http_requests_total", "portcullis_http_request_duration_seconds"}
RESERVED = {"worker", "instance", "job"}  # ours for all metrics, and what Prometheus adds to each series
PARTS = re.compile("_(bucket|sum|count)$")


@pytest.fixture(scope="module")
def samples() -> dict[str, list[Sample]]:
    """Return the samples of a worker that was never started, by metric."""
    found = defaultdict(list)
    with unstarted() as container:
        for sample in worker_samples(container):
            name = sample.name if sample.name in FAMILIES else PARTS.sub("", sample.name)
            found[name].append(sample)
    return found


def test_every_counter_and_histogram_is_there_at_0_before_its_first_event(
    samples: dict[str, list[Sample]],
) -> None:
    counters = {name for name, family in FAMILIES.items() if family.kind != "gauge"} - BY_ROUTE
    assert counters <= samples.keys()
    moving = {"portcullis_cpu_seconds_total"}
    assert {sample.value for name in counters - moving for sample in samples[name]} == {0}


def test_every_sample_has_the_labels_of_its_metric(samples: dict[str, list[Sample]]) -> None:
    for name, found in samples.items():
        for sample in found:
            assert set(sample.labels) - {"le"} == set(FAMILIES[name].labels), sample


def test_names_follow_the_conventions() -> None:
    for name, family in FAMILIES.items():
        assert re.fullmatch("portcullis_[a-z][a-z_]*[a-z]", name)
        assert name.endswith("_total") == (family.kind == "counter"), name
        assert "milliseconds" not in name
        assert family.help.endswith(".")
        assert RESERVED.isdisjoint(family.labels), name


def test_denials_and_statuses_are_counted_from_the_start(samples: dict[str, list[Sample]]) -> None:
    layers = {one.labels["layer"] for one in samples["portcullis_denials_total"]}
    assert layers == {"resource", "endpoint", "grant"}
    statuses = {one.labels["status"] for one in samples["portcullis_http_responses_total"]}
    assert {"0", "200", "401", "403", "429", "500", "503"} <= statuses


def test_a_duration_is_in_its_bucket_and_in_all_larger_ones() -> None:
    durations = Durations()
    for seconds in (0.001, 0.0011, 9.0):
        durations.observe(seconds)
    found = {one.labels.get("le", one.name): one.value for one in durations.samples("d", {})}
    assert (found["0.001"], found["0.0025"], found["2.5"], found["+Inf"]) == (1, 2, 2, 3)
    assert (found["d_count"], round(found["d_sum"], 4)) == (3, 9.0021)
