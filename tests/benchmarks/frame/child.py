"""A script: runs one benchmark in a process of its own, and writes what it yields to a file, line by line.

Run as ``child.py NAME ROUNDS SECONDS FILE`` by the runner: what a benchmark changes in its process, such as
the cores it may use, does not reach the next one, and what it found before a failure is kept.
"""

import signal
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from tests.benchmarks.frame.processes import die_with_parent
from tests.benchmarks.frame.results import Note, Pace, Result


def main(name: str, pace: Pace, target: Path) -> None:
    """Run the benchmark ``name``; an exception of it ends this process with a traceback."""
    run: Callable[[Pace], Iterable[Result | Note]] = import_module(f"tests.benchmarks.{name}").main
    with target.open("ab", buffering=0) as lines:
        for entry in run(pace):
            lines.write(written(entry))


def written(entry: Result | Note) -> bytes:
    """Return a line of JSON that the runner reads."""
    kind = "note" if isinstance(entry, Note) else "result"
    return msgspec.json.encode({kind: entry}) + b"\n"


def _stop(_number: int, _frame: Any) -> None:
    sys.exit("ended by a signal")


if __name__ == "__main__":
    die_with_parent()
    signal.signal(signal.SIGTERM, _stop)  # an exception, so that everything started is stopped
    chosen, rounds, seconds, file = sys.argv[1:]
    main(chosen, Pace(int(rounds), float(seconds)), Path(file))
