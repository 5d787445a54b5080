"""How many connections a worker holds follows from how many files it may open."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.running import ROOT

PROGRAM = """
import resource, sys
soft, hard, wanted = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from service.server.shares import most_connections, raise_file_limit
from service.settings import load
settings = load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__MAX_CONNECTIONS": str(wanted)})
print(raise_file_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0], most_connections(settings))
"""


def figures(soft: int, hard: int, requested: int) -> list[int]:
    """Return the limit that was raised to, the one in force, and the connections, in a process of its own."""
    words = [sys.executable, "-c", PROGRAM, str(soft), str(hard), str(requested)]
    done = subprocess.run(
        words, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize(
    ("soft", "hard", "requested", "most"),
    [
        (256, 512, 0, 363),
        (256, 512, 100, 100),
        (256, 512, 5000, 363),
        (256, 18_000, 0, 10_000),
        (64, 64, 0, 1),
    ],
)
def test_connections_stay_below_the_limit_for_files(soft: int, hard: int, requested: int, most: int) -> None:
    assert figures(soft, hard, requested) == [hard, hard, most]
