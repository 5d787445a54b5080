"""Runs benchmarks one after another and keeps what they found."""

# ruff: noqa: T201 - it talks to a person at a terminal

import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tests.benchmarks.frame.machine import commit, load, machine, packages
from tests.benchmarks.frame.processes import ended_within, nothing_left
from tests.benchmarks.frame.registry import Benchmark
from tests.benchmarks.frame.results import Note, Pace, Report, Result, Run
from tests.benchmarks.frame.table import printed

PATIENCE = 3
"""A benchmark is ended when it takes so many times the seconds that it may take."""


class _Line(msgspec.Struct):
    """A line of what a benchmark has written: a result or a note."""

    result: Result | None = None
    note: Note | None = None


def run_all(benchmarks: Sequence[Benchmark], pace: Pace) -> Run:
    """Run ``benchmarks`` one after another, print each table at its end, and return all results.

    One that fails, or takes too long, does not keep the others from running: its report says so.
    """
    here, (name, modified) = machine(), commit()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with nothing_left():
        reports = tuple([run_one(benchmark, pace) for benchmark in benchmarks])
    return Run(
        started=started,
        commit=name,
        modified=modified,
        python=platform.python_version(),
        packages=packages(),
        machine=msgspec.structs.replace(here, load_after=load()),
        quick=pace.is_quick,
        reports=reports,
    )


def run_one(benchmark: Benchmark, pace: Pace) -> Report:
    """Run a benchmark, print its table, and return its report."""
    print(f"{benchmark.name}: {benchmark.about}", flush=True)
    began, limit = time.monotonic(), PATIENCE * benchmark.seconds
    with tempfile.TemporaryDirectory(prefix="pc-bench-") as folder:
        file = Path(folder, "found")
        file.touch()
        words = [sys.executable, "-P", "-m", "tests.benchmarks.frame.child"]
        words += [benchmark.name, str(pace.rounds), str(pace.seconds), str(file)]
        # Stores and servers put their folders where this one is, so that they go with it.
        status = ended_within(limit, words, os.environ | {"TMPDIR": folder})
        results, notes = read(file.read_bytes())
    failure = ""
    if status is None:
        failure = f"it took more than {limit} s"
    elif status:
        failure = f"it ended with status {status}; the reason stands above"
    report = Report(
        benchmark.name,
        benchmark.about,
        round(time.monotonic() - began, 1),
        results,
        notes,
        failure,
    )
    print(printed(report), flush=True)
    return report


def read(lines: bytes) -> tuple[tuple[Result, ...], tuple[str, ...]]:
    """Return the results and the notes in what a benchmark has written."""
    entries = [msgspec.json.decode(line, type=_Line) for line in lines.splitlines()]
    return tuple(entry.result for entry in entries if entry.result), tuple(
        entry.note.text for entry in entries if entry.note
    )
