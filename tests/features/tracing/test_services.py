"""Traces of services that are not like the others, and of those that lack the extra."""

import asyncio
import json
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from service.features.operations.checks import checks_for
from service.features.tracing.checks import collector
from service.features.tracing.packages import HOW
from service.operator.findings import Installation
from service.server.prepare import check
from service.settings import Settings, SettingsError, Tracing, load
from tests.features.metrics.test_metrics import TOKEN, value
from tests.features.operations.doctor.conftest import no_routes
from tests.features.tracing.conftest import asked
from tests.service.conftest import variables_for
from tests.support.cases import with_each
from tests.support.collector import Collector, collecting, named
from tests.support.databases import NewDatabase
from tests.support.inside import all_decisions, inside_published
from tests.support.inside_fixtures import ServiceWith
from tests.support.running import running

END = b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


async def test_without_the_database_the_transaction_has_the_error_and_the_request_is_503(
    new_database: NewDatabase, published_template: str, redis_url: str, collector: Collector
) -> None:
    url = new_database(published_template)
    variables = {
        "PORTCULLIS_TRACING__ENDPOINT": collector.url,
        "PORTCULLIS_TRACING__RATIO": "1",
        "PORTCULLIS_DATABASE__TIMEOUT": "1",
    }
    async with inside_published(url, redis_url, **variables) as service:
        name = str(conninfo_to_dict(url)["dbname"])
        with psycopg.connect(make_conninfo(url, dbname="postgres"), autocommit=True) as server:
            server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            try:
                answer, spans = await asked(service, collector, "away-1", "/api/user/1")
            finally:
                server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())
    assert answer.status == 503
    request, transaction = named(spans, "GET /api/user/{id}"), named(spans, "transaction")
    assert request.error
    assert request.attributes["error.type"] == "unavailable"
    assert transaction.error
    assert transaction.attributes["error.type"] == "Unavailable"
    assert transaction.parent == request.id


async def test_the_decision_log_and_problems_name_the_trace(
    service_with: ServiceWith, collector: Collector, tmp_path: Path
) -> None:
    path = tmp_path / "decisions.jsonl"
    variables = {
        "PORTCULLIS_TRACING__ENDPOINT": collector.url,
        "PORTCULLIS_TRACING__RATIO": "0",
        **all_decisions(path),
    }
    async with service_with(**variables) as service:
        refused = await service.ask("GET", "/api/user/x", None, ("X-Request-Id", "logged-1"))
    events = [json.loads(line) for line in path.read_text().splitlines()]
    (event,) = [entry for entry in events if entry["request_id"] == "logged-1"]
    assert event["trace_id"] == refused.json["traceId"]
    assert all(span.trace != event["trace_id"] for span in collector.spans)  # the ratio is 0


async def test_without_the_collector_requests_go_on_and_its_spans_are_counted_as_dropped(
    service_with: ServiceWith,
) -> None:
    variables = {
        "PORTCULLIS_TRACING__ENDPOINT": "http://127.0.0.1:9",
        "PORTCULLIS_TRACING__RATIO": "1",
        "PORTCULLIS_TRACING__TIMEOUT": "1",
        "PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN,
    }
    async with service_with(**variables) as service:
        dropped = 0.0
        while not dropped:
            assert (await service.ask("GET", "/api/user/info")).status == 200
            text = (await service.ask("GET", "/metrics", None, token=TOKEN)).body.decode()
            dropped = value(text, "portcullis_trace_spans_total", outcome="dropped")
            await asyncio.sleep(0.05)
        assert value(text, "portcullis_trace_spans_total", outcome="sent") == 0


def test_a_worker_sends_its_last_spans_when_it_stops_and_its_log_names_the_traces(
    new_database: NewDatabase,
    published_template: str,
    redis_url: str,
    collector: Collector,
    tmp_path: Path,
) -> None:
    variables = variables_for(new_database(published_template), redis_url) | {
        "PORTCULLIS_TRACING__ENDPOINT": collector.url,
        "PORTCULLIS_TRACING__RATIO": "1",
    }
    with running(tmp_path, "--workers", "1", **variables) as service, service.client() as client:
        ids = [f"process-{number}" for number in range(6)]
        for request_id in ids:
            assert client.get("/api/user/info", headers={"X-Request-Id": request_id}).status_code == 401
        traces = {request_id: service.line_of(request_id)["trace_id"] for request_id in ids}
    exported = {span.attributes.get("portcullis.request_id"): span.trace for span in collector.spans}
    assert traces.items() <= exported.items()


def traced(endpoint: str, timeout: int = 1) -> Settings:
    return Settings(tracing=Tracing(endpoint=endpoint, timeout=timeout))


@pytest.fixture
def _not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)


@pytest.mark.usefixtures("_not_installed")
def test_a_start_without_the_packages_is_refused_and_names_the_extra() -> None:
    with pytest.raises(SettingsError, match=r"tracing.endpoint: .*portcullis-admin\[tracing\]"):
        check(traced("http://127.0.0.1:4318"))


@pytest.mark.usefixtures("_not_installed")
async def test_the_doctor_names_the_extra_too() -> None:
    finding = await collector(Installation({}, traced("http://127.0.0.1:4318"), no_routes))
    assert (finding.state, finding.remedy) == ("fault", HOW)


def test_an_endpoint_is_refused_where_the_feature_is_off() -> None:
    environ = {"PORTCULLIS_TRACING__ENDPOINT": "http://127.0.0.1:4318", "PORTCULLIS_FEATURES__OFF": "tracing"}
    with pytest.raises(
        SettingsError, match=r"tracing\.endpoint: needs the feature tracing, which features\.off names"
    ):
        load(environ)
    assert load(environ | {"PORTCULLIS_TRACING__ENDPOINT": ""}).features.off == ("tracing",)


def test_the_doctor_has_the_check_in_its_place_and_none_where_the_feature_is_off() -> None:
    names = [check.name for check in checks_for()]
    assert names[names.index("object-store") + 1] == "tracing"
    assert [check.name for check in checks_for(["tracing"])] == [name for name in names if name != "tracing"]


async def test_the_doctor_tries_the_collector() -> None:
    assert (await collector(Installation({}, Settings(), no_routes))).message == "off"
    away = await collector(Installation({}, traced("http://127.0.0.1:9"), no_routes))
    assert (away.state, away.message) == ("warning", "the collector takes no spans: ConnectionError")
    with collecting() as running:
        assert (await collector(Installation({}, traced(running.url, 30), no_routes))).state == "ok"
        assert not running.spans


def test_headers_come_from_the_setting_and_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_text("x-tenant=7\nauthorization=Basic a2V5OnNlY3JldA==\n")
    tracing = load(
        {
            "PORTCULLIS_CONFIG": "",
            "PORTCULLIS_TRACING__HEADERS": "api-key=k=1, x-more=y",
            "PORTCULLIS_TRACING__HEADERS_FILE": str(file),
        }
    ).tracing
    assert tracing.all_headers() == {
        "api-key": "k=1",
        "x-more": "y",
        "x-tenant": "7",
        "authorization": "Basic a2V5OnNlY3JldA==",
    }


@with_each(
    ("name", "given"),
    [
        ("HEADERS", "no header"),
        ("HEADERS", "a b=c"),
        ("HEADERS_FILE", "/nowhere/headers"),
        ("CA_FILE", "/nowhere/ca.pem"),
        ("CONTINUE_FROM", "0.0.0.0/0"),
        ("ENDPOINT", "127.0.0.1:4318"),
        ("RATIO", "1.1"),
    ],
)
def test_a_setting_that_can_not_be_used_is_a_fault_by_its_name(name: str, given: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load({"PORTCULLIS_CONFIG": "", f"PORTCULLIS_TRACING__{name}": given})
    (fault,) = raised.value.faults
    assert fault.name == f"tracing.{name.lower()}"


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("https://c.example/", "https://c.example/v1/traces"),
        ("https://c.example/api/otlp", "https://c.example/api/otlp"),
    ],
)
def test_a_url_without_a_path_gets_the_usual_one(endpoint: str, url: str) -> None:
    assert Tracing(endpoint=endpoint).traces_url == url
