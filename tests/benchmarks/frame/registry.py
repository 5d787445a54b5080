"""The benchmarks there are: each a module of ``tests.benchmarks`` whose ``main(pace)`` yields its results."""

from dataclasses import dataclass

TOTAL = 21 * 60
"""Seconds that all benchmarks may take together on two cores with nothing else to do."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark, what it measures, and the seconds that it may take; at three times these it is ended."""

    name: str
    about: str
    seconds: int


BENCHMARKS = (
    Benchmark("start", "what a start and a command take, and what the service costs that nobody calls", 90),
    Benchmark("calls", "how many calls a request makes in the main thread: counts, which no noise moves", 40),
    Benchmark("guarded", "what it costs a request to be guarded, against bare Falcon", 150),
    Benchmark("frameworks", "the same guarded GET in this service and in other frameworks", 75),
    Benchmark(
        "access", "what an answer to a question of another service costs, against a guarded request", 70
    ),
    Benchmark("pdp", "a decision beside a service, that follows 100,000 resources and as many users", 100),
    Benchmark(
        "decide", "what a decision costs, by the number of bound resources, against a plain Casbin", 15
    ),
    Benchmark("publish", "what a change of the policy costs, and what requests notice of it", 150),
    Benchmark("users", "pages of the list of users, by each filter and sort, when there are 100,000", 45),
    Benchmark(
        "files", "what it costs that files pass through the service, against the store client alone", 50
    ),
    Benchmark(
        "sessions", "logins and refreshes a second on one core, and the online list when it is long", 110
    ),
    Benchmark(
        "logs", "a page of a long log, against one of a short log, and what its indexes cost writers", 60
    ),
    Benchmark("oplog", "what the operation log costs a request, and how many entries a second it takes", 90),
    Benchmark(
        "questions",
        "what questions about the whole policy cost, with 500 roles, 10,000 resources and 20,000 users",
        160,
    ),
    Benchmark("tracing", "what traces cost a request: off, on but not recorded, and recorded", 35),
)
NAMES = tuple(benchmark.name for benchmark in BENCHMARKS)

NAMED = (
    Benchmark(
        "beside",
        "a guarded GET beside questions about the whole policy, publishing and an import of users",
        240,
    ),
    Benchmark("scale", "what a session store of three shards costs, against one server", 240),
    Benchmark(
        "console", "views of the console in Chromium, of 20,000 users and 10,000 resources, against few", 300
    ),
    Benchmark(
        "scim", "50,000 users and 500 groups provisioned by SCIM, and once more when nothing changed", 3600
    ),
)
"""What needs more than this repository and Python, or takes long: runs only when it is named."""

APART = {
    "faults": "what each operation answers while a store fails in every way (--only STORE:FAULT, --cluster)",
    "soak": "whether anything grows in twenty minutes of mixed load (--quick: one minute)",
}
"""What measures no speed and takes ten minutes or more: runs only when it is named, alone."""
