"""A run leaves no process behind, however a benchmark ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Starts a process in a session of its own, writes its id, and then does what the last argument says.
CHILD = """
import subprocess, sys, time
left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
open(sys.argv[1], "w").write(str(left.pid))
time.sleep(60) if sys.argv[2] == "hangs" else sys.exit(int(sys.argv[2]))
"""
# In a process of its own: what it adopts and kills must not be what pytest has started.
RUNNER = """
import os, sys
from tests.benchmarks.frame.processes import children, ended_within, nothing_left
with nothing_left():
    status = ended_within(float(sys.argv[1]), [sys.executable, "-c", *sys.argv[2:]], os.environ)
print(status, children())
"""


@pytest.mark.parametrize(
    ("seconds", "what", "status"), [(30.0, "0", "0 []"), (30.0, "3", "3 []"), (1.0, "hangs", "None []")]
)
def test_what_a_benchmark_started_has_ended_with_it(
    tmp_path: Path, seconds: float, what: str, status: str
) -> None:
    words = [sys.executable, "-c", RUNNER, str(seconds), CHILD, str(tmp_path / "pid"), what]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == status
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
