"""What a soak looks at about once a second: the processes of the service, and what the stores have of it."""

import os
import time
from pathlib import Path
from typing import Self

import psycopg
import redis
from msgspec import Struct

from tests.support.running import Running

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_CLIENTS = (
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


class Process(Struct, frozen=True):
    """A process by proc(5): resident memory in MiB, open descriptors, threads, processor time in seconds."""

    resident: float
    descriptors: int
    threads: int
    processor: float


class Sample(Struct, frozen=True):
    """One look: seconds since the start of the load, each process by its name, and what the stores count.

    ``store_memory`` is what the session store has allocated, in MiB.
    """

    seconds: float
    processes: dict[str, Process]
    database_connections: int
    store_connections: int
    keys: int
    store_memory: float


class Sampler:
    """Looks at a service that runs, and at its stores; close it at the end."""

    def __init__(self, service: Running, database_url: str, redis_url: str) -> None:
        self._service = service
        self._database = psycopg.connect(database_url, autocommit=True)
        self._store = redis.Redis.from_url(redis_url)
        self._started = time.monotonic()
        self.names = self._named()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        self._store.close()

    def sample(self) -> Sample:
        """Look once. FileNotFoundError or ProcessLookupError when a process is gone."""
        row = self._database.execute(_CLIENTS).fetchone()
        assert row is not None
        clients, memory = self._store.info("clients"), self._store.info("memory")
        keys = self._store.dbsize()
        return Sample(
            seconds=round(time.monotonic() - self._started, 2),
            processes={name: _process(pid) for name, pid in self.names.items()},
            database_connections=row[0],
            store_connections=clients["connected_clients"] - 1,
            keys=keys,
            store_memory=round(memory["used_memory"] / 2**20, 3),
        )

    def replaced(self) -> bool:
        """Tell whether a process is another than at the beginning."""
        return self._named() != self.names

    def _named(self) -> dict[str, int]:
        workers = {f"worker {number}": pid for number, pid in enumerate(self._service.workers, 1)}
        (template,) = self._service.templates
        return {"launcher": self._service.process.pid, "template": template, **workers}


def _process(pid: int) -> Process:
    folder = Path("/proc", str(pid))
    fields = (folder / "stat").read_text().rpartition(") ")[2].split()
    return Process(
        resident=int((folder / "statm").read_text().split()[1]) * _PAGE / 2**20,
        descriptors=len(os.listdir(folder / "fd")),  # noqa: PTH208 - names alone are enough
        threads=int(fields[17]),
        processor=(int(fields[11]) + int(fields[12])) / _TICKS,
    )
