"""Results: medians, ratios round by round, goals."""

from __future__ import annotations

import pytest

from tests.benchmarks.frame.child import written
from tests.benchmarks.frame.registry import APART, BENCHMARKS, NAMED, NAMES, TOTAL
from tests.benchmarks.frame.results import Note, Report, Result, at_least, at_most, result
from tests.benchmarks.frame.runner import read
from tests.benchmarks.frame.table import number, printed


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


@pytest.mark.parametrize(
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
