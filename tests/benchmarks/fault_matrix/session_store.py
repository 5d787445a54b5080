"""The session store that fails: a Valkey behind a proxy."""

from pathlib import Path
from typing import Any

import redis

from service.features.embedded import program
from service.features.embedded.stores import EmbeddedStores
from tests.benchmarks.fault_matrix.proxy import Proxy
from tests.benchmarks.fault_matrix.stores import FaultyStore


class FaultySessionStore(FaultyStore):
    """Valkey, whose files are in ``folder``."""

    name = "sessions"

    def __init__(self, stores: EmbeddedStores, folder: Path) -> None:
        self._stores = stores
        self._folder = folder
        super().__init__(stores.valkey, Proxy(folder.parent / "sockets" / "valkey.sock"))
        self.url = f"redis://127.0.0.1:{self.proxy.port}"

    def _inject(self, fault: str) -> None:
        if fault == "read-only":
            # What is left of a primary after a failover: a replica, here of one that can't be reached.
            self._command("REPLICAOF", "127.0.0.1", "1")
        elif fault == "full":
            self._command("CONFIG", "SET", "maxmemory", "1")
        elif fault == "emptied":
            self._command("FLUSHALL")

    def _heal(self, fault: str) -> None:
        if fault == "read-only":
            self._command("REPLICAOF", "NO", "ONE")
        elif fault == "full":
            self._command("CONFIG", "SET", "maxmemory", "0")

    def _pids(self) -> list[int]:
        return program.at_work_in(self._folder, "valkey-server")

    def _command(self, *words: str) -> Any:
        with redis.Redis.from_url(self._stores.redis_url) as client:
            return client.execute_command(*words)

    def _answers(self) -> bool:
        try:
            return bool(self._command("PING"))
        except redis.RedisError:
            return False
