"""Two runs compared: what is beyond noise, and what is not."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tests.benchmarks.__main__ import main
from tests.benchmarks.frame.compare import Change, compare
from tests.benchmarks.frame.page import encoded
from tests.benchmarks.frame.results import Better, Machine, Report, Result, Run, result

HERE = Machine("a processor", 2, 4096, "Linux", 0.1, 0.2)
ELSEWHERE = msgspec.structs.replace(HERE, processor="another")


def run(*results: Result, machine: Machine = HERE) -> Run:
    return Run(
        "2026-01-01T00:00:00+00:00",
        "abc",
        False,
        "3.11",
        {},
        machine,
        False,
        (Report("b", "", 1.0, results),),
    )


def changed(
    before: Sequence[float], after: Sequence[float], *, better: Better = "less", machine: Machine = HERE
) -> list[Change]:
    old, new = (result("one", "s", rounds, better=better) for rounds in (before, after))
    return compare(run(old), run(new, machine=machine))


def test_a_time_whose_rounds_are_all_longer_became_worse() -> None:
    (change,) = changed([1.0, 1.1, 1.2], [1.3, 1.4, 1.5])
    assert change.is_worse
    assert change.worse_by == pytest.approx(1.4 / 1.1 - 1)
    assert "27% worse" in str(change)


def test_a_rate_that_rises_became_better_and_one_that_falls_worse() -> None:
    (rise,) = changed([10.0, 11.0, 12.0], [20.0, 21.0, 22.0], better="more")
    (fall,) = changed([20.0, 21.0, 22.0], [10.0, 11.0, 12.0], better="more")
    assert rise.beyond_noise
    assert not rise.is_worse
    assert fall.is_worse


def test_rounds_that_overlap_are_noise_however_far_the_medians_are_apart() -> None:
    (change,) = changed([1.0, 1.1, 2.0], [1.5, 1.9, 2.1])
    assert not change.beyond_noise


def test_a_small_step_is_noise_even_when_no_round_overlaps() -> None:
    (change,) = changed([1.000, 1.001, 1.002], [1.020, 1.021, 1.022])
    assert not change.beyond_noise


def test_a_single_round_needs_a_larger_step() -> None:
    assert not changed([1.0], [1.08])[0].beyond_noise
    assert changed([1.0], [1.2])[0].is_worse


def test_figures_of_another_machine_are_not_compared() -> None:
    assert changed([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], machine=ELSEWHERE) == []


def test_ratios_are_compared_whatever_the_machine_and_its_speed() -> None:
    def measured(bare: float, own: float) -> tuple[Result, Result]:
        reference = result("bare", "s", [bare] * 3)
        return reference, result("own", "s", [own] * 3, against=reference)

    changes = compare(run(*measured(1.0, 2.0)), run(*measured(3.0, 6.0), machine=ELSEWHERE))
    assert [(change.name, change.beyond_noise) for change in changes] == [("b: own, s", False)]
    (worse,) = compare(run(*measured(1.0, 2.0)), run(*measured(3.0, 9.0), machine=ELSEWHERE))
    assert worse.is_worse
    assert worse.worse_by == pytest.approx(0.5)


def test_the_command_ends_with_1_only_when_something_became_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_bytes(encoded(run(result("one", "s", [1.0, 1.1, 1.2]), result("gone", "s", [1.0]))))
    new.write_bytes(encoded(run(result("one", "s", [2.0, 2.1, 2.2]))))
    assert main(["compare", str(old), str(new)]) == 1
    shown = capsys.readouterr().out
    assert "Worse: 1\n  b: one, s: 1.10 → 2.10 s, 91% worse" in shown
    assert "Only in the old: b: gone, s" in shown
    assert main(["compare", str(new), str(old)]) == 0
    assert main(["compare", str(old), str(old)]) == 0


def test_a_file_that_holds_no_results_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("{}")
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(tmp_path / "x"), str(tmp_path / "x")])
    assert ended.value.code == 2
    assert "holds no results" in capsys.readouterr().err
