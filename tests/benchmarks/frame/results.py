"""What a benchmark returns: figures over several rounds, compared with others of the same run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

from msgspec import Struct

Better: TypeAlias = Literal["more", "less"]


@dataclass(frozen=True)
class Pace:
    """How long to measure: so many rounds, of so many seconds each."""

    rounds: int = 5
    seconds: float = 2.0

    @property
    def is_quick(self) -> bool:
        """True if this only shows that the benchmark works: large tables may be smaller, too."""
        return self == QUICK


QUICK = Pace(rounds=2, seconds=0.3)


class Goal(Struct, frozen=True):
    """A limit for the median of the figures, or of the ratios."""

    of: Literal["figure", "ratio"]
    bound: Literal["at least", "at most"]
    value: float


def at_least(value: float, of: Literal["figure", "ratio"] = "figure") -> Goal:
    """Return the goal that the median is ``value`` or more."""
    return Goal(of, "at least", value)


def at_most(value: float, of: Literal["figure", "ratio"] = "figure") -> Goal:
    """Return the goal that the median is ``value`` or less."""
    return Goal(of, "at most", value)


class Result(Struct, frozen=True):
    """One thing that was measured: a figure for each round.

    ``ratios`` are the figure divided by that of ``against``, round by round: rounds alternate, so that a
    machine whose speed drifts does no harm. Results with the same ``chart`` and unit share a chart.
    """

    name: str
    unit: str
    rounds: tuple[float, ...]
    better: Better = "less"
    against: str = ""
    ratios: tuple[float, ...] = ()
    goals: tuple[Goal, ...] = ()
    chart: str = ""

    @property
    def figure(self) -> float:
        """The median of the rounds."""
        return median(self.rounds)

    @property
    def ratio(self) -> float | None:
        """The median of the ratios; None if it is compared with nothing."""
        return median(self.ratios) if self.ratios else None

    def keeps(self, goal: Goal) -> bool:
        """True if the median is within ``goal``; a ratio that was not measured is not."""
        measured = self.figure if goal.of == "figure" else self.ratio
        if measured is None:
            return False
        return measured >= goal.value if goal.bound == "at least" else measured <= goal.value


class Note(Struct, frozen=True):
    """A sentence that belongs to the results: what was left out and why, or what a figure rests on."""

    text: str


def result(
    name: str,
    unit: str,
    rounds: Iterable[float],
    *,
    better: Better = "less",
    against: Result | None = None,
    goals: Sequence[Goal] = (),
    chart: str = "",
) -> Result:
    """Return a Result; its ratios are those to the same rounds of ``against``.

    Raises ValueError without any round, if ``against`` has another number of rounds, or for a goal of a ratio
    without ``against``.
    """
    figures = tuple(rounds)
    if not figures:
        raise ValueError(f"{name} has no round")
    if against is None:
        if any(goal.of == "ratio" for goal in goals):
            raise ValueError(f"{name} has a goal for a ratio, and is compared with nothing")
        return Result(name, unit, figures, better, goals=tuple(goals), chart=chart)
    ratios = tuple(figure / other for figure, other in zip(figures, against.rounds, strict=True))
    return Result(name, unit, figures, better, against.name, ratios, tuple(goals), chart)


class Report(Struct, frozen=True):
    """What one benchmark found, and how long it took in seconds; ``failure`` says why it broke off."""

    name: str
    about: str
    seconds: float
    results: tuple[Result, ...] = ()
    notes: tuple[str, ...] = ()
    failure: str = ""

    def missed(self) -> Iterator[tuple[Result, Goal]]:
        """Yield each goal that was not kept, with its result."""
        for measurement in self.results:
            yield from ((measurement, goal) for goal in measurement.goals if not measurement.keeps(goal))


class Machine(Struct, frozen=True):
    """Where it was measured; the loads are averages over a minute, before the run and after it."""

    processor: str
    cores: int
    memory_mib: int
    system: str
    load_before: float
    load_after: float = 0.0


class Run(Struct, frozen=True):
    """All results of one command, as they are kept in a file."""

    started: str  # ISO 8601, UTC
    commit: str
    modified: bool  # the checkout differs from its commit
    python: str
    packages: dict[str, str]
    machine: Machine
    quick: bool
    reports: tuple[Report, ...]
    format: int = 1

    @property
    def seconds(self) -> float:
        """How long all benchmarks took."""
        return sum(report.seconds for report in self.reports)
