"""Runs benchmarks by name, or all: ``python3 dev.py bench [name …]``.

A benchmark is a module of this folder with a ``main()`` that prints its figures; its name stands below. What
is compared is measured in one run, since machines differ and ratios last. One that judges what it finds
returns the exit status, and one that takes options is given those that stand behind its name.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

from __future__ import annotations

import sys
from importlib import import_module

BENCHMARKS = {
    "guarded": "what it costs a request to be guarded, against bare Falcon",
    "access": "what an answer to a question of another service costs, against a guarded request",
    "decide": "what a decision costs, by the number of bound resources, against a plain Casbin",
    "publish": "what a change of the policy costs, and what requests notice of it",
    "users": "pages of the list of users, by each filter and sort, when there are 100,000",
    "files": "what it costs that files pass through the service, against the store client alone",
    "sessions": "logins and refreshes a second on one core, and the online list when it is long",
    "logs": "what a page of a long log costs, against one of a short log, and what its indexes cost writers",
    "oplog": "what the operation log costs a request, and how many entries a second it takes",
    "faults": "what each operation answers while a store fails in every way (--only STORE:FAULT)",
}
WITH_OPTIONS = {"faults"}


def main(words: list[str]) -> int:
    first_option = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    names, options = words[:first_option], words[first_option:]
    if options and not (len(names) == 1 and names[0] in WITH_OPTIONS):
        print(f"only {', '.join(sorted(WITH_OPTIONS))}, and alone, takes options")
        return 2
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are:")
        print(*(f"  {name:<10} {what}" for name, what in BENCHMARKS.items()), sep="\n")
        return 2
    status = 0
    for name in names or BENCHMARKS:
        print(f"{name}: {BENCHMARKS[name]}\n", flush=True)
        run = import_module(f"tests.benchmarks.{name}").main
        status |= (run(options) if name in WITH_OPTIONS else run()) or 0
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
