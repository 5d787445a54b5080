from __future__ import annotations

import re
from pathlib import Path
from time import sleep

from tests.support.running import Running
from tests.support.waiting import eventually

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
