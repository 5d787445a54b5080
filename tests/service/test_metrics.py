"""The metrics of a running service, as a scraper sees them."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import httpx

from tests.service.conftest import variables_for
from tests.support.running import PATIENCE, Running, running
from tests.support.waiting import eventually

TOKEN = "mX3-" * 8


def workers_in(text: str) -> set[str]:
    return set(re.findall(r'^portcullis_start_time_seconds\{worker="([^"]+)"\}', text, re.MULTILINE))


def total(text: str, route: str) -> float:
    lines = re.findall(
        rf'^portcullis_http_requests_total\{{.*route="{route}".*\}} (\S+)$', text, re.MULTILINE
    )
    return sum(map(float, lines))


def test_any_worker_tells_what_all_have_counted_and_forgets_one_that_has_ended(
    seeded_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    variables = variables_for(seeded_database_url, redis_url) | {"PORTCULLIS_SERVER__METRICS_TOKEN": TOKEN}
    with running(tmp_path, "--workers", "2", **variables) as service:
        check(service)


def check(service: Running) -> None:
    def scrape() -> str:
        # Without keep-alive each request may meet another worker.
        answer = httpx.get(
            f"{service.url}/metrics",
            headers={"Authorization": f"Bearer {TOKEN}"},
            trust_env=False,
            timeout=PATIENCE,
        )
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        return answer.text

    for _ in range(20):
        httpx.get(f"{service.url}/health/live", trust_env=False, timeout=PATIENCE)
    assert eventually(lambda: total(scrape(), "/health/live") == 20)
    before = workers_in(scrape())
    assert len(before) == 2

    os.kill(service.workers[0], signal.SIGTERM)

    def replaced() -> bool:
        try:
            now = workers_in(scrape())
        except (
            httpx.TransportError
        ):  # the connection was one that the worker had taken when it was told to end
            return False
        return len(now) == 2 and len(now & before) == 1

    assert eventually(replaced)
