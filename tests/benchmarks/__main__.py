"""Runs benchmarks by name, or all: ``python3 dev.py bench [name …]``.

A benchmark is a module of this folder with a ``main()`` that prints its figures; its name stands below. What
is compared is measured in one run, since machines differ and ratios last.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

from __future__ import annotations

import sys
from importlib import import_module

BENCHMARKS = {
    "guarded": "what it costs a request to be guarded, against bare Falcon",
    "decide": "what a decision costs, by the number of bound resources, against a plain Casbin",
    "publish": "what a change of the policy costs, and what requests notice of it",
    "users": "pages of the list of users, by each filter and sort, when there are 100,000",
    "files": "what it costs that files pass through the service, against the store client alone",
    "sessions": "logins and refreshes a second on one core, and the online list when it is long",
    "logs": "what a page of a long log costs, against one of a short log, and what its indexes cost writers",
    "oplog": "what the operation log costs a request, and how many entries a second it takes",
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are:")
        print(*(f"  {name:<10} {what}" for name, what in BENCHMARKS.items()), sep="\n")
        return 2
    for name in names or BENCHMARKS:
        print(f"{name}: {BENCHMARKS[name]}\n", flush=True)
        import_module(f"tests.benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
