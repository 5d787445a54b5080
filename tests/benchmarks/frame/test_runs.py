"""Runs of benchmarks: their results, no process left behind, and peers that can't be had."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks import frameworks
from tests.benchmarks.frame.child import written
from tests.benchmarks.frame.registry import APART, BENCHMARKS, NAMED, NAMES, TOTAL
from tests.benchmarks.frame.results import Note, Report, Result, at_least, at_most, result
from tests.benchmarks.frame.runner import read
from tests.benchmarks.frame.table import number, printed
from tests.benchmarks.frameworks import Peer
from tests.benchmarks.servers import ServerError
from tests.support.cases import with_each


def test_a_ratio_is_that_of_neighbouring_rounds() -> None:
    bare = result("bare", "requests/s", [100.0, 200.0, 50.0], better="more")
    guarded = result("guarded", "requests/s", [50.0, 120.0, 20.0], better="more", against=bare)
    assert (guarded.figure, guarded.ratios, guarded.ratio) == (50.0, (0.5, 0.6, 0.4), 0.5)
    assert guarded.against == "bare"


def test_a_goal_is_kept_by_the_median_of_what_it_is_about() -> None:
    bare = result("bare", "s", [1.0, 1.0, 1.0])
    compared = result("one", "s", [1.0, 2.0, 9.0], against=bare)
    assert compared.keeps(at_most(2.0))
    assert not compared.keeps(at_most(1.9))
    assert compared.keeps(at_least(2.0, "ratio"))
    assert not compared.keeps(at_least(2.1, "ratio"))


def test_a_report_names_each_missed_goal() -> None:
    kept, missed = at_most(3.0), at_most(1.0)
    measured = result("one", "s", [2.0], goals=[kept, missed])
    assert list(Report("x", "", 1.0, (measured,)).missed()) == [(measured, missed)]


def test_a_result_without_rounds_or_with_a_ratio_to_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no round"):
        result("one", "s", [])
    with pytest.raises(ValueError, match="compared with nothing"):
        result("one", "s", [1.0], goals=[at_most(1.0, "ratio")])
    with pytest.raises(ValueError, match="argument"):
        result("one", "s", [1.0], against=result("other", "s", [1.0, 2.0]))


@with_each(
    ("value", "shown"),
    [(0, "0"), (0.02512, "0.025"), (0.5, "0.500"), (2.3456, "2.35"), (45.67, "45.7"), (12345.6, "12,346")],
)
def test_numbers_show_three_digits(value: float, shown: str) -> None:
    assert number(value) == shown


def test_a_table_says_which_goals_are_missed_and_why_it_broke_off() -> None:
    reference = result("bare", "requests/s", [100.0, 110.0], better="more")
    own = result("own", "requests/s", [30.0, 33.0], against=reference, goals=[at_least(0.5, "ratio")])
    text = printed(Report("x", "", 12.3, (reference, own), ("a peer is left out",), "it hung"))
    (line,) = (line for line in text.splitlines() if " own " in line)
    assert "0.300 times bare" in line
    assert "ratio ≥ 0.500" in line
    assert line.endswith("MISSED")
    assert "note: a peer is left out" in text
    assert "FAILED: it hung" in text


def test_all_benchmarks_together_may_take_no_longer_than_is_promised() -> None:
    assert sum(benchmark.seconds for benchmark in BENCHMARKS) <= TOTAL
    names = [*NAMES, *APART, *(entry.name for entry in NAMED)]
    assert len(set(names)) == len(names)


def test_what_a_child_writes_is_read_back() -> None:
    measured = result("one", "s", [2.0, 3.0], goals=[at_most(1.0)])
    lines = written(measured) + written(Note("left out"))
    assert read(lines) == ((measured,), ("left out",))
    assert isinstance(read(lines)[0][0], Result)


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


NO_PEER = Peer("none", ("tests.benchmarks.no_such_module",))


def test_a_peer_without_its_packages_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(frameworks, "PYTHON", tmp_path / "python")
    with pytest.raises(ServerError, match="its packages are not installed"):
        frameworks._started(NO_PEER, {})


def test_a_peer_that_does_not_start_is_refused_with_the_end_of_its_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frameworks, "PYTHON", Path(sys.executable))
    with pytest.raises(ServerError, match="No module named"), frameworks._started(NO_PEER, {}):
        pass
