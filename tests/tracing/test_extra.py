"""Traces are an extra, whose lack is told by its name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from service.diagnosis.export_checks import collector
from service.diagnosis.installation import Installation
from service.server.prepare import check
from service.settings import Settings, SettingsError, Tracing, load
from service.web.observability.tracing import HOW
from tests.doctor.conftest import no_routes
from tests.support.collector import collecting

pytestmark = pytest.mark.anyio


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


@pytest.mark.parametrize(
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
