"""Metrics and rest of a running service: any worker tells what all count, and idle ones hardly wake."""

import os
import re
import signal
from pathlib import Path
from time import sleep

import httpx
import pytest

from tests.service.conftest import variables_for
from tests.support.running import PATIENCE, Running, running
from tests.support.waiting import eventually

TOKEN = "mX3-" * 8


def starts(text: str) -> dict[str, float]:
    """Return when each worker was started."""
    matches = re.findall(
        r'^portcullis_start_timestamp_seconds\{worker="([^"]+)"\} (\S+)$', text, re.MULTILINE
    )
    return {worker: float(time) for worker, time in matches}


def series(text: str) -> set[str]:
    """Return the names and labels of what does not depend on which requests were served."""
    names = (line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#"))
    return {name for name in names if "portcullis_http_request" not in name}


def total(text: str, route: str) -> float:
    lines = re.findall(
        rf'^portcullis_http_requests_total\{{.*route="{route}".*\}} (\S+)$', text, re.MULTILINE
    )
    return sum(map(float, lines))


@pytest.mark.feature("metrics")
def test_any_worker_tells_what_all_have_counted_and_a_restart_of_one_makes_no_new_series(
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
            verify=False,
            timeout=PATIENCE,
        )
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        return answer.text

    for _ in range(20):
        httpx.get(f"{service.url}/health/live", trust_env=False, verify=False, timeout=PATIENCE)
    assert eventually(lambda: total(scrape(), "/health/live") == 20)
    # A worker that has served nothing may not have left its numbers yet.
    assert eventually(lambda: starts(scrape()).keys() == {"1", "2"})
    before = scrape()

    os.kill(service.workers[0], signal.SIGKILL)

    def replaced() -> bool:
        try:
            now = scrape()
        except httpx.TransportError:  # the connection was one that the worker had taken
            return False
        return len(set(starts(now).items()) - set(starts(before).items())) == 1

    assert eventually(replaced)
    assert series(scrape()) == series(before)


WORKERS = 2
WINDOW = 1.5  # seconds
MOST = 40  # times a second: it is about 25, and was 60 while libraries and logs were polled


def wakes(pid: int) -> int:
    """Return how often the main thread of a process has waited for something."""
    match = re.search(
        r"^voluntary_ctxt_switches:\t(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE
    )
    assert match is not None
    return int(match[1])


def test_a_worker_without_requests_wakes_only_to_follow_the_stores(service: Running) -> None:
    assert eventually(lambda: len(service.workers) == WORKERS)  # the banner comes first
    quietest = dict.fromkeys(service.workers, 10_000)
    for _ in range(3):  # now and then a worker has more to do, such as looking for files that nobody needs
        before = {pid: wakes(pid) for pid in quietest}
        sleep(WINDOW)
        quietest = {pid: min(least, wakes(pid) - before[pid]) for pid, least in quietest.items()}
        if max(quietest.values()) < MOST * WINDOW:
            break
    assert max(quietest.values()) < MOST * WINDOW, quietest
