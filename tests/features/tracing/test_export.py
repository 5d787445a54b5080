"""Spans on their way to a collector: never waited for, bounded, and counted when they are lost."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

from service.features.tracing import export
from service.features.tracing.export import Collector, SpanExport
from service.features.tracing.packages import collector_of
from service.features.tracing.recorder import LEFT_OUT, MOST_SPANS, Recorder
from service.settings import Tracing
from tests.support import collector as collectors
from tests.support.waiting import eventually

MOST = 20


class Fake:
    """A collector that takes spans only while ``takes`` is set, and waits while it is ``stuck``."""

    reason = "ConnectionError"

    def __init__(self) -> None:
        self.takes = True
        self.free = threading.Event()
        self.free.set()
        self.attempts: list[float] = []
        self.got = 0

    def send(self, spans: list[ReadableSpan]) -> bool:
        self.attempts.append(time.monotonic())
        self.free.wait()
        self.got += len(spans) if self.takes else 0
        return self.takes

    def stop(self) -> None:
        self.free.set()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "GATHER", 0.01)


@pytest.fixture
def fake() -> Fake:
    return Fake()


def exporting(fake: Any) -> SpanExport:
    made = SpanExport(fake, MOST)
    made.start()
    return made


def end_spans(made: SpanExport, count: int) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(made)
    for number in range(count):
        provider.get_tracer("test").start_span(f"span {number}").end()


async def test_what_finds_no_room_is_dropped_and_counted_and_nobody_waits(fake: Fake) -> None:
    fake.free.clear()
    made = exporting(fake)
    end_spans(made, 1)
    assert eventually(lambda: bool(fake.attempts))  # one is being sent, and that takes its time
    end_spans(made, MOST + 5)
    assert made.dropped == 5
    fake.free.set()
    assert eventually(lambda: made.sent == MOST + 1)
    await made.finish()


async def test_a_collector_that_is_away_is_asked_ever_less_often_and_found_again(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "AT_ONCE", 1)
    fake.takes = False
    made = exporting(fake)
    end_spans(made, 6)
    assert eventually(lambda: made.dropped == 6)
    pauses = [later - before for before, later in zip(fake.attempts, fake.attempts[1:], strict=False)]
    assert all(pause > 0.9 * 0.01 * 2**number for number, pause in enumerate(pauses))
    fake.takes = True
    end_spans(made, 3)
    assert eventually(lambda: made.sent == 3)
    end_spans(made, 3)
    assert eventually(lambda: made.sent == 6)
    await made.finish()


async def test_a_worker_that_stops_sends_what_waits(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "GATHER", 60.0)
    made = exporting(fake)
    end_spans(made, 3)
    await made.finish()
    assert (made.sent, fake.got) == (3, 3)


async def test_a_worker_that_stops_does_not_wait_for_a_silent_collector(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "FINISH_WITHIN", 0.1)
    fake.free.clear()
    made = exporting(fake)
    end_spans(made, 3)
    assert eventually(lambda: bool(fake.attempts))
    async with asyncio.timeout(5):
        await made.finish()
    assert fake.free.is_set()  # it was told to give up


async def test_what_was_never_started_ends_at_once(fake: Fake) -> None:
    await SpanExport(fake, MOST).finish()  # type: ignore[arg-type]
    assert not fake.attempts


@pytest.fixture
def busy() -> Iterator[collectors.Collector]:
    with collectors.collecting() as running_collector:
        running_collector.status = 400
        yield running_collector


def test_a_collector_that_refuses_says_why_and_one_that_is_away_too(busy: collectors.Collector) -> None:
    refusing = collector_of(Tracing(endpoint=busy.url))
    assert not refusing.send([])
    assert refusing.reason == "HTTP status 400"
    busy.status = 200
    assert refusing.send([])
    away = Collector(Tracing(endpoint="http://127.0.0.1:9", timeout=1))
    assert not away.send([])
    assert away.reason == "ConnectionError"


def test_no_redirect_of_a_collector_is_followed_and_its_spans_count_as_lost(
    busy: collectors.Collector,
) -> None:
    busy.status = 302
    led_away = Collector(Tracing(endpoint=busy.url, headers="x-api-key=of-the-collector"))
    made = exporting(led_away)
    end_spans(made, 1)
    assert eventually(lambda: made.dropped == 1)
    assert made.sent == 0
    assert busy.followed == 0
    assert led_away.reason == "HTTP status 302"


def test_neither_a_proxy_of_the_environment_nor_a_password_of_the_home_is_used(
    busy: collectors.Collector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("default login somebody password else")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    busy.status = 200
    assert Collector(Tracing(endpoint=busy.url, headers="authorization=Bearer mine")).send([])
    assert {name.lower(): value for name, value in busy.headers[0].items()}["authorization"] == "Bearer mine"


class Kept(SpanProcessor):
    """Keeps the spans that have ended."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


def test_a_request_has_a_limited_number_of_spans_and_tells_how_many_more_there_were() -> None:
    kept = Kept()
    request = Recorder(kept, "gate", "worker").request(7, "GET", {})
    for _ in range(MOST_SPANS + 9):
        within = request.child("SELECT")
        within.set("x", 1)
        within.end("failed")
    request.end()
    assert len(kept.spans) == MOST_SPANS
    attributes = kept.spans[-1].attributes
    assert attributes is not None
    assert attributes[LEFT_OUT] == 10
    within = request.child("SELECT")  # what is left out takes everything, and records nothing
    within.child("part").end()
    assert len(kept.spans) == MOST_SPANS
