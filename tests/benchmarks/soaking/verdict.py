"""What the samples of a soak say: what grows, what is bounded, and how evenly the workers were loaded."""

from collections.abc import Callable, Iterator, Sequence
from statistics import linear_regression, median

from tests.benchmarks.soaking.sampling import Sample

WARM_UP = 0.25
"""The part of the time that is not judged: caches fill, and pools open their connections."""
SHORTEST = 600.0
"""Seconds of samples below which growth says nothing."""
MOST_MEMORY = 12.0
"""MiB an hour that the lowest resident memory of a process may grow by."""
MOST_MORE = 1.1
"""How much more of something that is bounded the last third may have than the first."""
MOST_UNEVEN = 1.5
"""The processor time of the busiest worker against that of the idlest."""

Figure = Callable[[Sample], float]


def judged(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return the samples after the warm-up."""
    end = samples[-1].seconds
    return [sample for sample in samples if sample.seconds >= WARM_UP * end]


def slope(samples: Sequence[Sample], figure: Figure) -> float:
    """Return how much ``figure`` grows in an hour, by a straight line through the samples."""
    return 3600 * linear_regression([sample.seconds for sample in samples], [*map(figure, samples)]).slope


def thirds(samples: Sequence[Sample], figure: Figure) -> tuple[float, float]:
    """Return the medians of ``figure`` in the first third of the samples and in the last."""
    size = max(1, len(samples) // 3)
    return median(map(figure, samples[:size])), median(map(figure, samples[-size:]))


def lows(samples: Sequence[Sample], figure: Figure) -> tuple[float, float]:
    """Return the least of ``figure`` in the first half of the samples and in the second.

    Each password hash takes 19 MiB, which are given back some time later: the lows have none of them.
    """
    middle = len(samples) // 2
    return min(map(figure, samples[:middle])), min(map(figure, samples[middle:]))


def rise(samples: Sequence[Sample], figure: Figure) -> float:
    """Return how much the lows of ``figure`` rise in an hour."""
    before, after = lows(samples, figure)
    return 2 * 3600 * (after - before) / (samples[-1].seconds - samples[0].seconds)


def resident(name: str) -> Figure:
    """Return the figure of a process's resident memory, in MiB."""
    return lambda sample: sample.processes[name].resident


def descriptors(name: str) -> Figure:
    """Return the figure of a process's open descriptors."""
    return lambda sample: sample.processes[name].descriptors


def threads(name: str) -> Figure:
    """Return the figure of a process's threads."""
    return lambda sample: sample.processes[name].threads


COUNTS: dict[str, Figure] = {
    "connections to the database": lambda sample: sample.database_connections,
    "connections to the session store": lambda sample: sample.store_connections,
    "keys of the session store": lambda sample: sample.keys,
    "memory of the session store (MiB)": lambda sample: sample.store_memory,
}


def processor(samples: Sequence[Sample]) -> dict[str, float]:
    """Return the seconds of processor time of each worker between the first sample and the last."""
    first, last = samples[0].processes, samples[-1].processes
    return {name: last[name].processor - first[name].processor for name in last if name.startswith("worker")}


def complaints(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield what is wrong, one line each; what grows is judged when the samples are long enough."""
    kept = judged(samples)
    spent = processor(kept)
    if max(spent.values()) > MOST_UNEVEN * min(spent.values()):
        yield f"the workers were loaded unevenly: {spent}"
    if samples[-1].seconds < SHORTEST:
        return
    for name in samples[-1].processes:
        if (grown := rise(kept, resident(name))) > MOST_MEMORY:
            yield f"the memory of the {name} grows by {grown:.1f} MiB an hour"
        for what, figure in (("descriptors", descriptors(name)), ("threads", threads(name))):
            yield from _more(kept, figure, f"the {what} of the {name}")
    for what, figure in COUNTS.items():
        yield from _more(kept, figure, f"the {what}")


def _more(samples: Sequence[Sample], figure: Figure, what: str) -> Iterator[str]:
    before, after = thirds(samples, figure)
    if after > MOST_MORE * before + 1:
        yield f"{what} grow: {before:g} in the first third, {after:g} in the last"
