"""Says what became slower, or faster, between two runs, beyond the noise of their rounds."""

from dataclasses import dataclass
from statistics import median
from typing import Final

from tests.benchmarks.frame.results import Machine, Result, Run
from tests.benchmarks.frame.table import number

LEAST: Final = 0.05
"""The smallest change of a median that counts: runs of the same code differ by up to that."""
LEAST_ALONE: Final = 0.10
"""The same where a side has fewer than three rounds, whose spread says little."""
FEW: Final = 3


@dataclass(frozen=True)
class Change:
    """A result of both runs: how much worse the median became, 0.1 for a tenth, below 0 for better."""

    name: str
    what: str
    before: tuple[float, ...]
    after: tuple[float, ...]
    worse_by: float
    beyond_noise: bool

    @property
    def is_worse(self) -> bool:
        """True if it became worse beyond the noise."""
        return self.beyond_noise and self.worse_by > 0

    def __str__(self) -> str:
        word = "worse" if self.worse_by > 0 else "better"
        change = f"{number(median(self.before))} → {number(median(self.after))} {self.what}"
        spreads = ", ".join(
            f"{number(min(side))} … {number(max(side))}" for side in (self.before, self.after)
        )
        return f"{self.name}: {change}, {abs(self.worse_by):.0%} {word} ({spreads})"


def compare(old: Run, new: Run) -> list[Change]:
    """Return how each result that both runs have changed.

    A result that is compared with something of its own run is judged by that ratio, which lasts when the
    machine or its load differs. Other figures are judged only when both runs are from the same machine. A
    change is beyond noise if no round of one run lies within those of the other, and the medians differ by
    ``LEAST``.
    """
    same = alike(old.machine, new.machine)
    before, after = _results(old), _results(new)
    changes = []
    for name in before.keys() & after.keys():
        first, second = before[name], after[name]
        if first.against and first.against == second.against:
            changes.append(_change(name, f"times {first.against}", first.ratios, second.ratios, first))
        elif same and first.unit == second.unit:
            changes.append(_change(name, first.unit, first.rounds, second.rounds, first))
    return sorted(changes, key=lambda change: -change.worse_by)


def alike(machine: Machine, other: Machine) -> bool:
    """True if figures of the two machines can be compared."""
    return (machine.processor, machine.cores) == (other.processor, other.cores)


def only_in(run: Run, other: Run) -> list[str]:
    """Return the results that ``run`` has and ``other`` has not."""
    return sorted(_results(run).keys() - _results(other).keys())


def _results(run: Run) -> dict[str, Result]:
    return {
        f"{report.name}: {result.name}, {result.unit}": result
        for report in run.reports
        for result in report.results
    }


def _change(
    name: str, what: str, before: tuple[float, ...], after: tuple[float, ...], result: Result
) -> Change:
    old, new = median(before), median(after)
    worse_by = 0.0
    if old > 0 and new > 0:
        # As costs, so that a rate that falls to a half became worse by 100 % like a time that doubles.
        worse_by = (new / old if result.better == "less" else old / new) - 1
    apart = min(after) > max(before) or max(after) < min(before)
    least = LEAST if min(len(before), len(after)) >= FEW else LEAST_ALONE
    # The same step in either direction: 5 % worse and back again both count.
    beyond = apart and max(worse_by, 1 / (1 + worse_by) - 1) >= least
    return Change(name, what, before, after, worse_by, beyond)
