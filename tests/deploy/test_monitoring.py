"""The alert rules, the dashboard and their pages name metrics, labels and values that the service shows."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
import yaml
from promql_parser import (
    AggregateExpr,
    BinaryExpr,
    Call,
    Expr,
    MatrixSelector,
    ParenExpr,
    SubqueryExpr,
    UnaryExpr,
    VectorSelector,
    parse,
)

from service.features.follower.families import OF_FOLLOWERS
from service.features.metrics.families import FAMILIES, OF_WORKERS
from service.features.metrics.worker_samples import worker_samples
from tests.docs.pages import anchors, pages
from tests.support.unstarted import unstarted

ROOT: Final = Path(__file__).resolve().parents[2]
RULES: Final = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text(encoding="utf-8"))
ALERTS: Final = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]}
DASHBOARD: Final = json.loads((ROOT / "deploy/grafana/portcullis.json").read_text(encoding="utf-8"))
PAGE: Final = (ROOT / "docs/guides/alerts.md").read_text(encoding="utf-8")
RUNBOOKS: Final = '{{ or $externalLabels.portcullis_runbooks "docs/guides/alerts.md" }}'
SHOWN: Final = {**OF_FOLLOWERS, **FAMILIES}
OF_TARGETS: Final = {"instance", "job"}
PARTS: Final = re.compile("_(bucket|sum|count)$")
TESTS: Final = "".join(
    (ROOT / "tests/deploy" / name).read_text(encoding="utf-8")
    for name in ("alerts.yaml", "alerts_of_days.yaml")
)
NAMED: Final = re.compile(r"(?<!\$)\bportcullis(?:_[a-z]+){2,}\b(?!_)")
OTHER_NAMES: Final = {"portcullis_api_client"}
"""What looks like a metric: the package of a generated client."""
HEADING: Final = re.compile(r"^### (\w+)$", re.MULTILINE)


def family_of(series: str) -> str:
    """Return the metric that a series belongs to."""
    return series if series in SHOWN or series == "up" else PARTS.sub("", series)


@pytest.fixture(scope="module")
def values() -> dict[tuple[str, str], set[str]]:
    """Return the values that a worker shows, by metric and label."""
    samples = defaultdict(set)
    with unstarted() as container:
        for sample in worker_samples(container):
            for label, value in sample.labels.items():
                samples[family_of(sample.name), label].add(value)
        for job in container.node.scheduler.jobs:
            samples["portcullis_job_failing", "job_name"].add(job.name)
    return samples


def queries() -> Iterator[tuple[str, str]]:
    """Yield where each query stands, and the query, with times in place of those that Grafana computes."""
    for name, rule in ALERTS.items():
        yield name, rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], re.sub(r"\$__rate_interval|\$__range", "5m", target["expr"])


QUERIES: Final = list(queries())


def selectors(expression: Expr) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each series that a query reads, with the values of labels that it wants."""
    if isinstance(expression, VectorSelector):
        assert expression.name is not None
        yield expression.name, {matcher.name: matcher.value for matcher in expression.matchers.matchers}
    elif isinstance(expression, MatrixSelector):
        yield from selectors(expression.vector_selector)
    elif isinstance(expression, AggregateExpr | ParenExpr | SubqueryExpr | UnaryExpr):
        yield from selectors(expression.expr)
    elif isinstance(expression, BinaryExpr):
        yield from selectors(expression.lhs)
        yield from selectors(expression.rhs)
    elif isinstance(expression, Call):
        for argument in expression.args:
            yield from selectors(argument)


def read_by(query: str) -> dict[str, Mapping[str, str]]:
    return dict(selectors(parse(query)))


def labels_of(series: str) -> set[str]:
    family = family_of(series)
    own = set() if family == "up" else set(SHOWN[family].labels)
    of_worker = {"worker"} if family in OF_WORKERS else set()
    return own | OF_TARGETS | of_worker | ({"le"} if series.endswith("_bucket") else set())


def test_queries_read_what_is_shown(values: Mapping[tuple[str, str], set[str]]) -> None:
    for place, query in QUERIES:
        read = list(selectors(parse(query)))
        assert read, place
        for series, labels in read:
            family = family_of(series)
            assert family in ("up", *SHOWN), f"{place}: {series}"
            assert series not in SHOWN or SHOWN[series].kind != "histogram", f"{place}: {series}"
            assert labels.keys() <= labels_of(series), f"{place}: {series} has no such label"
            for label, value in labels.items():
                if shown := values.get((family, label)):
                    assert {*value.split("|")} <= shown, f"{place}: {series} has no such {label}"


def test_queries_group_by_labels_that_are_shown() -> None:
    for place, query in QUERIES:
        possible = {label for series in read_by(query) for label in labels_of(series)}
        for words in re.findall(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)", query):
            assert {word.strip() for word in words.split(",")} <= possible, f"{place}: {words}"


def test_every_alert_has_a_section_that_its_runbook_leads_to_and_no_section_is_left_over() -> None:
    sections = HEADING.findall(PAGE)
    assert sections == list(ALERTS)
    for name, rule in ALERTS.items():
        base, _, fragment = rule["annotations"]["runbook_url"].partition("#")
        assert base == RUNBOOKS
        assert fragment == name.lower()
    assert {name.lower() for name in ALERTS} <= anchors(PAGE)


def test_every_alert_says_what_it_is_about_and_how_urgent_it_is() -> None:
    for name, rule in ALERTS.items():
        assert {*rule["annotations"]} == {"summary", "description", "runbook_url"}, name
        assert rule["labels"]["severity"] in ("critical", "warning"), name
        possible = {label for series in read_by(rule["expr"]) for label in labels_of(series)}
        labels = re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))
        assert {*labels} <= possible, name


def test_no_alert_needs_a_worker_in_every_scrape() -> None:
    """A worker that is replaced leaves a gap; an alert with its label would start to wait anew."""
    for name, rule in ALERTS.items():
        families = {family_of(series) for series in read_by(rule["expr"])}
        if families & OF_WORKERS.keys():
            assert re.search(r"without \([^)]*\bworker\b", rule["expr"]), name


def test_every_alert_is_seen_to_fire_by_a_unit_test() -> None:
    assert {*re.findall(r'alertname="(\w+)"', TESTS)} == ALERTS.keys()


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {family_of(series) for _, query in QUERIES for series in read_by(query)}
    assert shown >= SHOWN.keys()


def test_pages_name_only_metrics_that_are_shown() -> None:
    for page in pages():
        named = set(NAMED.findall(page.read_text(encoding="utf-8"))) - OTHER_NAMES
        assert {family_of(name) for name in named} <= SHOWN.keys(), page
