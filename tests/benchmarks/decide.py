"""What a decision costs."""

# ruff: noqa: T201 - it talks to a person at a terminal

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import median

from service.authz.engine.policy import Policy
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped, read_shipped
from service.kernel.bound_resource import BoundResource
from service.kernel.codes import HeldCodes
from tests.policies.stock import stock_enforcer

SIZES = (10, 1_000, 100_000)
STOCK_SIZES = (10, 1_000)
ROUNDS = 7
LIMITS = {"uncached": 30.0, "cached": 1.0}


def registered(count: int) -> Iterator[BoundResource]:
    """Yield ``count`` resources, each bound to one Button; half of them have a parameter."""
    for number in range(count):
        path = f"/api/area{number % 97}/thing{number}" + ("/{id}" if number % 2 else "")
        yield BoundResource("GET", path, [(f"area{number % 97}:thing{number % 13}:list", True)])


def holders() -> list[HeldCodes]:
    """Return callers with forty codes each, no two alike; every fourth holds what many resources want."""
    return [
        HeldCodes(
            [f"role{number}:{code}:read" for code in range(39)]
            + [("x:y", "area1:*", "*:thing2:*", "*")[number % 4]]
        )
        for number in range(500)
    ]


def microseconds(action: Callable[[], object], count: int) -> float:
    """Return the microseconds that each of the ``count`` steps of ``action`` takes, in the median round."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) / count * 1e6)
    return median(times)


def questions(objects: list[str], callers: list[HeldCodes], count: int) -> list[tuple[str, HeldCodes]]:
    """Return ``count`` pairs, the same mixture of permitted and denied whatever the number of objects."""
    draw = Random(1)
    return [(draw.choice(objects), draw.choice(callers)) for _ in range(count)]


def uncached(policy: Policy, asked: list[tuple[str, HeldCodes]]) -> float:
    """Ask what was not asked before: the answers given so far are forgotten in every round."""
    asked = list(dict.fromkeys(asked))

    def ask() -> None:
        policy._remembered.clear()
        for name, held in asked:
            policy.judge("resource", name, held)

    return microseconds(ask, len(asked))


def cached(policy: Policy, asked: list[tuple[str, HeldCodes]]) -> float:
    """Ask the same again and again."""

    def ask() -> None:
        for name, held in asked:
            policy.judge("resource", name, held)

    ask()
    return microseconds(ask, len(asked))


def resolved(policy: Policy, objects: list[str]) -> float:
    """Find the resource of a request."""
    find = policy._resources.find
    paths = [name.partition(" ")[2].replace("{id}", "7") for name in objects] * 10

    def look_up() -> None:
        for path in paths:
            find("GET", path)

    return microseconds(look_up, len(paths))


def stock(policy: Policy, asked: list[tuple[str, HeldCodes]]) -> float:
    """Ask a plain ``casbin.Enforcer`` about the same lines."""
    asked = asked[: max(20, 20_000 // len(policy.rules))]
    with tempfile.TemporaryDirectory() as folder:
        enforcer = stock_enforcer(Path(folder), policy.rules)

        def ask() -> None:
            for name, held in asked:
                enforcer.enforce("resource", name, held)

        return microseconds(ask, len(asked))


def resident() -> float:
    """Return the resident memory of this process in MiB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def build(shipped: Shipped, size: int) -> tuple[Policy, float, float]:
    """Return a policy over ``size`` resources, the seconds it took, and the MiB that it keeps."""
    before, start = resident(), time.perf_counter()
    policy = shipped.policy(derive(registered(size)), {}, 1)
    seconds = time.perf_counter() - start
    return policy, seconds, resident() - before


def measure(policy: Policy, callers: list[HeldCodes], size: int) -> dict[str, float]:
    """Return the microseconds of each kind of question."""
    # Spread over the whole policy, so that a scan would show.
    objects = [rule.object for rule in policy.rules if rule.object.startswith("GET /api/area")]
    objects = objects[:: max(1, size // 1_000)]
    asked = questions(objects, callers, 3_000)
    costs = {
        "uncached": uncached(policy, asked),
        "cached": cached(policy, asked),
        "find": resolved(policy, objects),
    }
    if size in STOCK_SIZES:
        costs["plain"] = stock(policy, asked)
    return costs


def main() -> None:
    """Print one line for each number of resources, and the ratios between them."""
    shipped, callers = read_shipped(), holders()
    found: dict[int, dict[str, float]] = {}
    columns = ("resources", "uncached", "cached", "find", "plain Casbin", "ratio", "build", "memory")
    print(*(f"{column:>12}" for column in columns))
    for size in SIZES:
        policy, seconds, mebibytes = build(shipped, size)
        costs = found[size] = measure(policy, callers, size)
        plain = f"{costs['plain']:,.1f} µs" if "plain" in costs else ""
        ratio = f"{costs['plain'] / costs['uncached']:,.0f}" if "plain" in costs else ""
        times = [f"{costs[kind]:.2f} µs" for kind in ("uncached", "cached", "find")]
        row = (f"{size:,}", *times, plain, ratio, f"{seconds:.2f} s", f"{mebibytes:.0f} MiB")
        print(*(f"{value:>12}" for value in row))
    print(f"\n{SIZES[-1]:,} bound resources against {SIZES[0]}:")
    for kind, limit in LIMITS.items():
        times_more = found[SIZES[-1]][kind] / found[SIZES[0]][kind]
        verdict = "kept" if max(costs[kind] for costs in found.values()) < limit else "BROKEN"
        print(f"  {kind}: ratio {times_more:.2f}; the limit of {limit:g} µs is {verdict}")
