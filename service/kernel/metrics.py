"""Values that parts of the service report: counts and samples for ``/metrics``, states for readiness."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, Literal, NamedTuple, TypeVar

from msgspec import Struct

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of the buckets of durations in seconds; a last bucket has the rest."""


Value = TypeVar("Value", bound=str)


class Sample(Struct, array_like=True):
    """One value of a metric, with its labels."""

    name: str
    value: float
    labels: dict[str, str]


class Durations:
    """A histogram of durations, and their sum in seconds. To observe one takes less than a microsecond."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds

    @property
    def count(self) -> int:
        """The number of durations."""
        return sum(self.buckets)

    def add(self, other: "Durations") -> None:
        """Add the durations of another histogram."""
        self.buckets = [own + more for own, more in zip(self.buckets, other.buckets, strict=True)]
        self.seconds += other.seconds

    def samples(self, name: str, labels: dict[str, str]) -> Iterator[Sample]:
        """Yield buckets, sum and count of the histogram ``name``."""
        for bound, number in zip((*BOUNDS, "+Inf"), accumulate(self.buckets), strict=True):
            yield Sample(f"{name}_bucket", number, {**labels, "le": str(bound)})
        yield Sample(f"{name}_sum", self.seconds, labels)
        yield Sample(f"{name}_count", self.count, labels)


def counted(name: str, label: str, counts: Mapping[Value, int]) -> Iterator[Sample]:
    for value, count in counts.items():
        yield Sample(name, count, {label: value})


State = Literal["up", "degraded", "read_only", "down"]
"""``degraded``: it works with limits. ``read_only``: it can be read and refuses writes."""


class Health(NamedTuple):
    """The state of a part, which is public, and ``details`` for the operator."""

    state: State
    details: Mapping[str, Any] = {}
