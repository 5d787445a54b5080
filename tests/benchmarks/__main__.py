"""Runs benchmarks: ``python3 dev.py bench [name …]``; without a name all, and the page is written anew.

A benchmark is a module of this folder whose ``main(pace)`` yields what it measures, as results of the module
``frame.results``. What is compared is measured in one run, since machines differ and ratios last.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import msgspec

from tests.benchmarks.frame.compare import alike, compare, only_in
from tests.benchmarks.frame.page import PAGE, REFERENCE, encoded, publish
from tests.benchmarks.frame.registry import APART, BENCHMARKS, NAMED, NAMES, TOTAL
from tests.benchmarks.frame.results import QUICK, Pace, Run
from tests.benchmarks.frame.runner import run_all
from tests.benchmarks.frame.table import goal_text


def main(words: Sequence[str]) -> int:
    """Do what ``words`` ask for; returns the exit status."""
    if words and words[0] in APART:
        print(f"{words[0]}: {APART[words[0]]}\n", flush=True)
        status: int = import_module(f"tests.benchmarks.{words[0]}").main(words[1:])
        return status
    if words and words[0] in _COMMANDS:
        return _COMMANDS[words[0]](words[1:])
    return _measure(words)


def _measure(words: Sequence[str]) -> int:
    """Run benchmarks; 1 if one of them failed. Goals that are missed are named, and are no failure."""
    parser = _parser()
    arguments = parser.parse_args(words)
    known = [benchmark.name for benchmark in (*BENCHMARKS, *NAMED)]
    if unknown := set(arguments.names) - {*known}:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    chosen = [
        benchmark for benchmark in (*BENCHMARKS, *NAMED) if benchmark.name in (arguments.names or NAMES)
    ]
    try:
        run = run_all(chosen, QUICK if arguments.quick else Pace())
    except KeyboardInterrupt:
        print("interrupted: everything that was started has ended, and nothing is written")
        return 130
    if arguments.json:
        arguments.json.write_bytes(encoded(run))
    if not arguments.names and not arguments.quick:
        publish(run)
        print(f"written: {REFERENCE / PAGE}")
    for report in run.reports:
        for result, goal in report.missed():
            print(f"missed: {report.name}, {result.name} ({result.unit}): {goal_text(goal)}")
    failed = [report.name for report in run.reports if report.failure]
    print(f"{len(run.reports)} benchmarks in {run.seconds / 60:.1f} minutes", end="")
    print(f"; failed: {', '.join(failed)}" if failed else "")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    listed, named = (
        [f"  {benchmark.name:<10} {benchmark.about}" for benchmark in each] for each in (BENCHMARKS, NAMED)
    )
    apart = [f"  {name:<10} {about}" for name, about in APART.items()]
    parser = argparse.ArgumentParser(
        prog="dev.py bench",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s [name …] [--quick] [--json FILE]\n"
        "       %(prog)s compare OLD.json NEW.json\n       %(prog)s page FILE.json",
        description="Measures the service. Without a name: everything, and docs/reference/performance.md,\n"
        "its charts and performance.json are written anew; "
        f"at most {TOTAL // 60} minutes on two quiet cores.",
        epilog="\n".join(
            [
                *(
                    "benchmarks:",
                    *listed,
                    "",
                    "by name only:",
                    *named,
                    "",
                    "apart, by name and alone only:",
                    *apart,
                    "",
                ),
                "compare says what became slower beyond the noise of the rounds; 1 if something did.",
                "page writes the page from results that --json has kept.",
            ]
        ),
    )
    parser.add_argument("names", nargs="*", metavar="name", help="a benchmark; without any, all")
    parser.add_argument("--quick", action="store_true", help="only see whether they work, in short rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the results in FILE")
    return parser


def _compare(words: Sequence[str]) -> int:
    """Print what changed between two files beyond noise; 1 if something became worse."""
    parser = argparse.ArgumentParser(prog="dev.py bench compare")
    parser.add_argument("old", type=_read)
    parser.add_argument("new", type=_read)
    arguments = parser.parse_args(words)
    old, new = arguments.old, arguments.new
    if not alike(old.machine, new.machine):
        print("The machines differ: only what was compared within its own run is compared.")
    changes = compare(old, new)
    worse = [change for change in changes if change.is_worse]
    better = [change for change in reversed(changes) if change.beyond_noise and not change.is_worse]
    for head, listed in (("Worse", worse), ("Better", better)):
        print(f"{head}: {len(listed)}", *(f"  {change}" for change in listed), sep="\n")
    print(f"Within the noise: {len(changes) - len(worse) - len(better)}")
    for head, missing in (("Only in the old", only_in(old, new)), ("Only in the new", only_in(new, old))):
        print(*(f"{head}: {name}" for name in missing), sep="\n", end="\n" if missing else "")
    return 1 if worse else 0


def _page(words: Sequence[str]) -> int:
    """Write the page from a file of results."""
    parser = argparse.ArgumentParser(prog="dev.py bench page")
    parser.add_argument("results", type=_read)
    publish(parser.parse_args(words).results)
    print(f"written: {REFERENCE / PAGE}")
    return 0


def _read(name: str) -> Run:
    try:
        return msgspec.json.decode(Path(name).read_bytes(), type=Run)
    except (OSError, msgspec.DecodeError) as error:
        raise argparse.ArgumentTypeError(f"{name} holds no results: {error}") from None


_COMMANDS = {"compare": _compare, "page": _page}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
