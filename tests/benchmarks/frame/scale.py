"""The tables about scale in ``docs/explanation/performance.md``: costs of requests, and needs of many users.

Both are computed from the results of the benchmarks, so that the page can't say anything else.
"""
# ruff: noqa: RUF001 - the signs of the page

from collections.abc import Iterator
from math import ceil
from typing import Final, NamedTuple

from tests.benchmarks.frame.results import Run

USERS: Final = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
READS, LOGINS, REFRESHES = 200, 1, 5
"""Of an active user on a day."""
ACTIVE, PEAK, SESSIONS = 0.2, 5, 1.5
"""The share of the users who are active on a day, the busiest hour in means, sessions for each user."""
SESSION_BYTES, USER_BYTES = 1_100, 750
SHARD_BYTES: Final = 30e9
"""Of sessions on one server of the session store: see the page."""
CORES, USED, CONNECTIONS = 2, 0.6, 10
"""Of a node, with a worker for each core; how busy it may be; connections of a worker to PostgreSQL."""
_DAY, _MORNING = 86_400, 1_800  # seconds


class Cost(NamedTuple):
    """A row: a result of a benchmark, and those of the stores where they were measured (None: nothing)."""

    request: str
    benchmark: str
    name: str
    database: tuple[str, str] | None = None
    sessions: tuple[str, str] | None = None


_CHECK: Final = ("sessions", "the caller's own data, in Valkey")
LOGIN: Final = Cost(
    "Login (Argon2id at 19 MiB)",
    *("sessions", "a login"),
    ("sessions", "a login, in PostgreSQL"),
    ("sessions", "a login, in Valkey"),
)
REFRESH: Final = Cost(
    "Refresh",
    *("sessions", "a refresh"),
    ("sessions", "a refresh, in PostgreSQL"),
    ("sessions", "a refresh, in Valkey"),
)
READ: Final = Cost(
    "A guarded request that reads only the session store", "guarded", "read, HS256, 64", None, _CHECK
)
COSTS: Final = (
    LOGIN,
    REFRESH,
    READ,
    Cost(
        "The caller's own data",
        "sessions",
        "the caller's own data",
        ("sessions", "the caller's own data, in PostgreSQL"),
        _CHECK,
    ),
    Cost("A route question of another service", "access", "about a route", None, _CHECK),
    Cost("A change of a user, with its log entry", "oplog", "a change of a user's status"),
    Cost("An idle second", "start", "a worker without requests"),
)
_MILLISECONDS: Final = {
    "ms of processor time": 1.0,
    "µs of processor time": 0.001,
    "% of a core": 10.0,
}


def with_tables(page: str, run: Run) -> str:
    """Return ``page`` with its tables computed from ``run``; unchanged if a result is missing there."""
    try:
        tables = {"costs": "\n".join(_costs(run)), "sizes": "\n".join(_sizes(run))}
    except KeyError:
        return page
    for name, table in tables.items():
        before, start, rest = page.partition(f"<!-- {name}:start -->\n")
        _, end, after = rest.partition(f"<!-- {name}:end -->")
        page = f"{before}{start}{table}\n{end}{after}"
    return page


def milliseconds(run: Run, benchmark: str, name: str) -> float:
    """Return the processor time of a result, of a second for a load without requests; KeyError for none."""
    for report in run.reports:
        for measurement in report.results:
            if (report.name, measurement.name) == (benchmark, name) and measurement.unit in _MILLISECONDS:
                return measurement.figure * _MILLISECONDS[measurement.unit]
    raise KeyError(f"{benchmark}: {name}")


def _costs(run: Run) -> Iterator[str]:
    yield "| Request | Worker | PostgreSQL | Session store | Benchmark |"
    yield "| --- | --- | --- | --- | --- |"
    for cost in COSTS:
        stores = [short(milliseconds(run, *store)) if store else "" for store in cost[3:]]
        own = short(milliseconds(run, cost.benchmark, cost.name))
        yield f"| {cost.request} | {own} | {' | '.join(stores)} | `{cost.benchmark}`: {cost.name} |"
    each_second = {
        cost: short(CORES * 1000 / milliseconds(run, cost.benchmark, cost.name))
        for cost in (READ, REFRESH, LOGIN)
    }
    yield ""
    yield (
        f"A node of two cores with two workers and external stores serves about {each_second[READ]} light "
        f"guarded\nrequests a second, or {each_second[REFRESH]} refreshes, or {each_second[LOGIN]} logins."
    )


def _sizes(run: Run) -> Iterator[str]:
    read, login, refresh = (
        milliseconds(run, cost.benchmark, cost.name) / 1000 for cost in (READ, LOGIN, REFRESH)
    )
    store_read, store_login, store_refresh = (
        milliseconds(run, *cost.sessions) / 1000 for cost in (READ, LOGIN, REFRESH) if cost.sessions
    )
    database_login, database_refresh = (
        milliseconds(run, *cost.database) / 1000 for cost in (LOGIN, REFRESH) if cost.database
    )
    columns = []
    for users in USERS:
        active = users * ACTIVE
        reads, logins, refreshes = (active * each / _DAY * PEAK for each in (READS, LOGINS, REFRESHES))
        cores = reads * read + logins * login + refreshes * refresh
        nodes = ceil(cores / (CORES * USED))
        columns.append(
            [
                f"{active:,.0f}",
                short(reads),
                short(logins),
                short(refreshes),
                short(reads * read),
                short(logins * login),
                short(refreshes * refresh),
                f"{nodes:,}",
                short(active / _MORNING * login),
                f"{short(users * SESSIONS * SESSION_BYTES / 1e9)} GB",
                short(in_stores := reads * store_read + logins * store_login + refreshes * store_refresh),
                f"{max(ceil(users * SESSIONS * SESSION_BYTES / SHARD_BYTES), ceil(in_stores / USED)):,}",
                f"{short(users * USER_BYTES / 1e9)} GB",
                short(logins * database_login + refreshes * database_refresh),
                f"{nodes * CORES * CONNECTIONS:,}",
            ]
        )
    per_day = f"÷ {_DAY:,} × {PEAK}"
    a_login, a_refresh = f"{short(login * 1000)} ms", f"{short(refresh * 1000)} ms"
    in_store = " and ".join(short(each * 1000) for each in (store_login, store_refresh))
    in_database = " and ".join(short(each * 1000) for each in (database_login, database_refresh))
    labels = [
        f"Active users a day (÷ {1 / ACTIVE:.0f})",
        f"Guarded requests a second, busiest hour (× {READS} {per_day})",
        f"Logins a second (× {LOGINS} {per_day})",
        f"Refreshes a second (× {REFRESHES} {per_day})",
        f"Cores for guarded requests (× {short(read * 1000)} ms)",
        f"Cores for logins (× {a_login})",
        f"Cores for refreshes (× {a_refresh})",
        f"Nodes of {CORES} cores, at {USED * 100:.0f} %",
        f"All active users log in within half an hour: cores (÷ {_MORNING:,} × {a_login})",
        f"Memory for sessions (× {SESSIONS} × {SESSION_BYTES:,} bytes)",
        f"Session store: cores (× {short(store_read * 1000)}, {in_store} ms)",
        f"Shards of the session store (of {SHARD_BYTES / 1e9:.0f} GB, or a core at {USED * 100:.0f} %)",
        f"Table of users (× {USER_BYTES:,} bytes)",
        f"PostgreSQL: cores for logins and refreshes (× {in_database} ms)",
        f"Connections to PostgreSQL ({CORES} workers a node)",
    ]
    yield f"| | {' | '.join(f'{users // 1_000_000:,} million' for users in USERS)} |"
    yield f"| --- |{' --- |' * len(USERS)}"
    for label, *values in zip(labels, *columns, strict=True):
        yield f"| {label} | {' | '.join(values)} |"


def short(value: float) -> str:
    """Return ``value`` with two significant digits."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"
