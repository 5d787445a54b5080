"""What every operation answers while a store fails in every way: nothing wrong is let in, nothing is lost.

The service runs as its operators run it, with two workers, and its stores behind proxies. Eight operations
go on all the time, each beside a twin that must be refused: one store fails, stays so for some seconds, and
comes back.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog

from service.features.embedded.privilege import own_directory
from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks import cluster
from tests.benchmarks.fault_matrix.calls import RENEWERS, Caller, make_intruders, make_people
from tests.benchmarks.fault_matrix.cell import run_cell
from tests.benchmarks.fault_matrix.database import FaultyDatabase
from tests.benchmarks.fault_matrix.mounts import small_file_system
from tests.benchmarks.fault_matrix.object_store import FaultyObjectStore
from tests.benchmarks.fault_matrix.operations import Export, GuardedRead, LogIn, Operation, RefreshPair
from tests.benchmarks.fault_matrix.session_store import FaultySessionStore
from tests.benchmarks.fault_matrix.stores import FAULTS, FaultyStore
from tests.benchmarks.fault_matrix.verdict import HEAD, complaints, row
from tests.benchmarks.fault_matrix.writes import Bind, Download, RoleWrite, Upload
from tests.support.running import running
from tests.support.s3 import s3_server
from tests.support.seeded import seed_database

STORES = ("database", "sessions", "objects")
_DATABASE_SIZE, _BUCKET_SIZE = 128, 32  # MiB


def main(options: Sequence[str] = ()) -> int:
    """Run the cells that ``options`` choose, or all; return 1 when anything is wrong in one of them.

    With ``--cluster`` alone, kill primaries and nodes instead.
    """
    if list(options) == ["--cluster"]:
        return cluster.main()
    chosen = _chosen(options)
    # Stores that are killed are started again, and that is told as a warning.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    started = time.monotonic()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="pc-") as folder, _laboratory(Path(folder)) as laboratory:
        for store, fault in chosen:
            wrong += laboratory.run(store, fault)
    print(f"{len(chosen)} cells in {time.monotonic() - started:.0f} s, {len(wrong)} complaints")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


def _chosen(options: Sequence[str]) -> list[tuple[str, str]]:
    parser = argparse.ArgumentParser(prog="dev.py bench faults")
    parser.add_argument(
        "--only",
        action="append",
        metavar="STORE[:FAULT]",
        help=f"a store ({', '.join(STORES)}) and a fault ({', '.join(FAULTS)}); may be given several times",
    )
    parser.add_argument("--cluster", action="store_true", help="kill primaries and nodes instead; alone")
    requested = parser.parse_args(options).only
    cells = [(store, fault) for store in STORES for fault in FAULTS]
    if requested is None:
        return cells
    chosen = [
        (store, fault) for store, fault in cells if {store, f"{store}:{fault}", f":{fault}"} & {*requested}
    ]
    if not chosen:
        parser.error(f"no cell is called {', '.join(requested)}")
    return chosen


class Laboratory:
    """A service that runs, its stores, and all that is done with it."""

    def __init__(self, url: str, database_url: str, stores: Sequence[FaultyStore]) -> None:
        self._database_url = database_url
        self._stores = {store.name: store for store in stores}
        self._caller = Caller(url)
        make_people(database_url)
        intruders = make_intruders(self._caller, database_url)
        self._operations: list[Operation] = [
            GuardedRead(url, intruders),
            LogIn(url, intruders),
            *(RefreshPair(url, intruders, name) for name in RENEWERS),
            RoleWrite(url, intruders, database_url),
            Bind(url, intruders, database_url),
            Upload(url, intruders),
            Download(url, intruders),
            Export(url, intruders),
        ]

    def run(self, name: str, fault: str) -> list[str]:
        """Run one cell and print its table; return what is wrong, one line each."""
        store = self._stores[name]
        print(f"{name}, {fault}:", flush=True)
        if reason := store.impossible(fault):
            print(f"  impossible here: it {reason}\n", flush=True)
            return []
        outcomes = run_cell(store, fault, self._operations)
        wrong = [
            f"{name}, {fault}, {outcome.operation.name}: {complaint}"
            for outcome in outcomes
            for complaint in complaints(name, fault, outcome)
        ]
        print(HEAD, *map(row, outcomes), sep="\n")
        print(*(f"  WRONG {line}" for line in wrong), "", sep="\n", flush=True)
        if (name, fault) == ("sessions", "emptied"):
            intruders = make_intruders(self._caller, self._database_url)
            for operation in self._operations:
                operation.intruders = intruders
        return wrong

    def close(self) -> None:
        """Close the connections."""
        self._caller.close()
        for operation in self._operations:
            operation.close()


@contextmanager
def _laboratory(place: Path) -> Iterator[Laboratory]:
    with ExitStack() as stack:
        own_directory(place / "small")
        limited = stack.enter_context(small_file_system(place / "small", _DATABASE_SIZE))
        own_directory(place / "small")
        stores = stack.enter_context(EmbeddedStores(place / "data"))
        s3_limited = stack.enter_context(small_file_system(place / "s3" / "buckets", _BUCKET_SIZE))
        s3 = stack.enter_context(s3_server(place / "s3"))
        database = FaultyDatabase(stores, place / "data" / "postgres", place / "small" if limited else None)
        stack.callback(database.proxy.close)
        sessions = FaultySessionStore(stores, place / "data" / "valkey")
        stack.callback(sessions.proxy.close)
        objects = FaultyObjectStore(s3, limited=s3_limited)
        stack.callback(objects.proxy.close)
        seed_database(database.direct_url)
        variables = s3.variables(OBJSTORE_ENDPOINT=objects.endpoint) | {
            "DATABASE_URL": database.url,
            "REDIS_URL": sessions.url,
            "JWT_SECRET": os.urandom(32).hex(),
            "PORTCULLIS_THROTTLE__ENABLED": "false",
            "PORTCULLIS_AUTH__MAX_DEVICES": "1000",
            # Longer than any cell: a client that was not answered repeats its refresh until it is.
            "PORTCULLIS_AUTH__REFRESH_RACE_WINDOW": "60",
        }
        service = stack.enter_context(running(place, "--workers", "2", **variables))
        laboratory = Laboratory(service.url, database.direct_url, (database, sessions, objects))
        stack.callback(laboratory.close)
        yield laboratory
