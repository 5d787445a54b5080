"""Whether anything grows: two workers under a mixed load for twenty minutes, looked at once a second.

What is judged are counts and slopes, not rates: so it runs on a machine that does other work too. The times
of tokens and throttling are short, so that whatever should end by itself ends several times meanwhile.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.frame.machine import commit, load
from tests.benchmarks.soaking.load import RENEWED_AFTER, Load, count_lines
from tests.benchmarks.soaking.sampling import Sample, Sampler
from tests.benchmarks.soaking.verdict import (
    COUNTS,
    complaints,
    descriptors,
    judged,
    lows,
    processor,
    resident,
    rise,
    slope,
    thirds,
    threads,
)
from tests.support.running import running_anew
from tests.support.seeded import seed_database

_SETTINGS = {
    "PORTCULLIS_AUTH__ACCESS_TIMEOUT": "60",
    "PORTCULLIS_AUTH__REFRESH_TIMEOUT": "180",
    "PORTCULLIS_AUTH__MAX_DEVICES": "20",
    "PORTCULLIS_THROTTLE__WINDOW": "60",
    **{
        f"PORTCULLIS_THROTTLE__{limit}": "1000000"
        for limit in ("LOGIN_ACCOUNT", "LOGIN_ADDRESS", "REFRESH_ACCOUNT", "REFRESH_ADDRESS")
    },
}


def main(options: Sequence[str] = ()) -> int:
    """Run it; return 1 when something grows, fails or is uneven."""
    parser = argparse.ArgumentParser(prog="dev.py bench soak")
    parser.add_argument("--minutes", type=float, default=20, help="how long; 20 unless told")
    parser.add_argument("--quick", action="store_true", help="one minute: only see whether it works")
    parser.add_argument("--samples", type=Path, metavar="FILE", help="keep the samples, one JSON a line")
    arguments = parser.parse_args(options)
    before, (name, modified) = load(), commit()
    with tempfile.TemporaryDirectory(prefix="pc-") as folder, ExitStack() as stack:
        samples, wrong = _soak(Path(folder), stack, 60 * (1 if arguments.quick else arguments.minutes))
    if arguments.samples:
        arguments.samples.write_bytes(msgspec.json.Encoder().encode_lines(samples))
    print(*_summary(samples), sep="\n")
    print(f"commit {name}{' (changed)' if modified else ''}, load {before} before and {load()} after")
    print(*(wrong or ["nothing grows, nothing failed"]), sep="\n")
    return 1 if wrong else 0


def _soak(place: Path, stack: ExitStack, seconds: float) -> tuple[list[Sample], list[str]]:
    stores = stack.enter_context(EmbeddedStores(place / "stores"))
    seed_database(stores.database_url)
    variables = _SETTINGS | {
        "DATABASE_URL": stores.database_url,
        "REDIS_URL": stores.redis_url,
        "JWT_SECRET": os.urandom(32).hex(),
    }
    service = stack.enter_context(running_anew(place, "--workers", "2", **variables))
    work = Load(service.url, stores.database_url)
    sampler = stack.enter_context(Sampler(service, stores.database_url, stores.redis_url))
    stack.callback(work.stop)
    work.start()
    samples = [sampler.sample()]
    renewed = 0.0
    while samples[-1].seconds < seconds:
        time.sleep(1)
        samples.append(sampler.sample())
        if samples[-1].seconds - renewed > RENEWED_AFTER:
            work.renew()
            renewed = samples[-1].seconds
    work.stop()
    print(f"{sum(work.turns.values())} turns in {seconds:.0f} s: {', '.join(count_lines(work.turns))}")
    wrong = [*count_lines(work.unexpected), *complaints(samples)]
    print(*count_lines(Counter(map(_reason, filter(_is_warning, service.log)))), sep="\n")
    return samples, [*wrong, "a process was replaced"] if sampler.replaced() else wrong


def _is_warning(line: dict[str, Any]) -> bool:
    return line["level"] in ("warning", "error", "critical")


def _reason(line: dict[str, Any]) -> str:
    """Return what a line of the service's log says, without what differs from line to line."""
    why = (str(line[name]) for name in ("cause", "reason", "error", "status") if name in line)
    return ": ".join((line["event"], *why))


def _summary(samples: Sequence[Sample]) -> list[str]:
    """Return the table of what was seen after the warm-up.

    Of memory the least of both halves, of all else the medians of the first third and of the last.
    """
    kept = judged(samples)
    rows = ["| What | At first | At last | Most | Growth an hour |", "| --- | --- | --- | --- | --- |"]
    for name in samples[-1].processes:
        before, after = lows(kept, resident(name))
        most, grown = max(map(resident(name), kept)), rise(kept, resident(name))
        rows.append(
            f"| least memory of the {name} (MiB) | {before:.4g} | {after:.4g} | {most:.4g} | {grown:+.3g} |"
        )
    figures = {
        f"{what} of the {name}": kind(name)
        for name in samples[-1].processes
        for what, kind in (("descriptors", descriptors), ("threads", threads))
    }
    for what, figure in (figures | COUNTS).items():
        first, last = thirds(kept, figure)
        most = max(map(figure, kept))
        rows.append(f"| {what} | {first:.4g} | {last:.4g} | {most:.4g} | {slope(kept, figure):+.3g} |")
    spent = processor(kept)
    ratio = max(spent.values()) / min(spent.values())
    shares = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in spent.items())
    return [*rows, f"processor time: {shares}; ratio {ratio:.2f}"]
