"""What a decision costs, by the number of bound resources, against a plain Casbin.

Each resource is bound to three Buttons. Rounds go through all sizes, and each ratio is that of neighbours.
"""

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped, read_shipped
from service.kernel.codes import HeldCodes
from service.kernel.services import BoundResource
from tests.benchmarks.frame.results import Goal, Pace, Result, at_most, result
from tests.policies.stock import stock_enforcer

SIZES = (10, 1_000, 100_000)
STOCK_SIZES = (10, 1_000)
ASKED = 3_000
GOALS: dict[str, list[Goal]] = {
    "denied": [at_most(60.0)],
    "answered before": [at_most(1.0)],
}
"""Microseconds, at every size.

A denial asks each of three lines by all alternatives of the matcher, which Casbin evaluates as text: 15 µs a
line on the machine of the page. 25 was the goal before a line could demand an authentication, elsewhere.
"""
FLAT = at_most(1.2, "ratio")
"""The most against ten resources, at the greatest size."""


def registered(count: int) -> Iterator[BoundResource]:
    """Yield ``count`` resources, each bound to three Buttons; half of them have a parameter."""
    for number in range(count):
        area, thing = f"area{number % 97}", f"thing{number % 13}"
        path = f"/api/{area}/thing{number}" + ("/{id}" if number % 2 else "")
        yield BoundResource(
            "GET", path, [(f"{area}:{thing}:{act}", True) for act in ("list", "edit", "drop")]
        )


def holders() -> list[HeldCodes]:
    """Return callers with forty codes each, no two alike; every fourth holds what many resources want."""
    return [
        HeldCodes(
            [f"role{number}:{code}:read" for code in range(39)]
            + [("x:y", "area1:*", "*:thing2:*", "*")[number % 4]]
        )
        for number in range(500)
    ]


class _Sized:
    """A policy over a number of resources, and the questions that are asked of it."""

    def __init__(self, shipped: Shipped, size: int, callers: list[HeldCodes]) -> None:
        before, start = resident(), time.process_time()
        self.policy = shipped.policy(derive(registered(size)), {}, 1)
        self.seconds = time.process_time() - start
        self.mebibytes = resident() - before
        names = [rule.object for rule in self.policy.rules if rule.object.startswith("GET /api/area")]
        # Spread over the whole policy, so that a scan would show.
        self._objects = list(dict.fromkeys(names))[:: max(1, size // 1_000)]
        without = [held for number, held in enumerate(callers) if number % 4 == 0]
        self._asked = {"denied": self._questions(without), "mixed": self._questions(callers)}
        self._paths = [name.partition(" ")[2].replace("{id}", "7") for name in self._objects] * 10

    def _questions(self, callers: list[HeldCodes]) -> list[tuple[str, HeldCodes]]:
        """Return pairs, no two alike, in the same mixture whatever the number of objects."""
        draw = Random(1)
        return list(dict.fromkeys((draw.choice(self._objects), draw.choice(callers)) for _ in range(ASKED)))

    def costs(self) -> dict[str, float]:
        """Return the microseconds of each kind of question, once."""
        judge, find = self.policy.judge, self.policy._resources.find

        def ask(kind: str) -> Callable[[], None]:
            def each() -> None:
                for name, held in self._asked[kind]:
                    judge("resource", name, held)

            return each

        def look_up() -> None:
            for path in self._paths:
                find("GET", path)

        timings = {}
        for kind, asked in self._asked.items():
            self.policy._remembered.clear()
            timings[kind] = microseconds(ask(kind), len(asked))
        # Few enough to be remembered, and asked for the second time.
        timings["answered before"] = microseconds(ask("mixed"), len(self._asked["mixed"]))
        timings["the resource found"] = microseconds(look_up, len(self._paths))
        return timings

    def plain(self, folder: Path) -> Callable[[], float]:
        """Return what asks a plain ``casbin.Enforcer`` about the same lines, and returns microseconds."""
        asked = self._asked["mixed"][: max(20, 20_000 // len(self.policy.rules))]
        enforcer = stock_enforcer(folder, self.policy.rules)

        def ask() -> None:
            for name, held in asked:
                enforcer.enforce("resource", name, held)

        return lambda: microseconds(ask, len(asked))


def microseconds(action: Callable[[], object], count: int) -> float:
    """Return the microseconds of processor time that each of the ``count`` steps of ``action`` takes."""
    start = time.process_time()
    action()
    return (time.process_time() - start) / count * 1e6


def resident() -> float:
    """Return the resident memory of this process in MiB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(pace: Pace) -> Iterator[Result]:
    """Yield the cost of each kind of question at each size, and of a plain Casbin."""
    shipped, callers = read_shipped(), holders()
    sized = {size: _Sized(shipped, size, callers) for size in SIZES}
    with tempfile.TemporaryDirectory() as folder:
        plain = {size: sized[size].plain(Path(folder)) for size in STOCK_SIZES}
        costs: dict[int, list[dict[str, float]]] = {size: [] for size in SIZES}
        stock: dict[int, list[float]] = {size: [] for size in STOCK_SIZES}
        for sized_policy in sized.values():
            sized_policy.costs()
        for _ in range(pace.rounds):
            for size, sized_policy in sized.items():
                costs[size].append(sized_policy.costs())
            for size, ask in plain.items():
                stock[size].append(ask())
    yield from _by_size(costs)
    for size, times in stock.items():
        reference = result(f"mixed, {size:,} resources", "µs", [each["mixed"] for each in costs[size]])
        yield result(f"plain Casbin, {size:,} resources", "µs", times, against=reference)
    for size, sized_policy in sized.items():
        yield result(f"built over {size:,} resources", "s", [sized_policy.seconds])
        yield result(f"kept for {size:,} resources", "MiB", [sized_policy.mebibytes])


def _by_size(costs: dict[int, list[dict[str, float]]]) -> Iterator[Result]:
    for kind in costs[SIZES[0]][0]:
        smallest = None
        for size in SIZES:
            goals = list(GOALS.get(kind, ()))
            if size == SIZES[-1]:
                goals.append(FLAT)
            measured = result(
                f"{kind}, {size:,} resources",
                "µs",
                [each[kind] for each in costs[size]],
                against=smallest,
                goals=goals,
                chart="" if kind == "mixed" else f"A decision, {kind}",
            )
            smallest = smallest or measured
            yield measured
