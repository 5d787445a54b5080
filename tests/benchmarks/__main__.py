"""Run benchmarks by name, or all: each module of this folder is one, and prints its own figures."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path


def main(names: list[str]) -> None:
    known = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"There is no benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
    for name in names or known:
        runpy.run_module(f"tests.bench.{name}", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
