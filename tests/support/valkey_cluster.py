"""A Valkey cluster: primaries that share the slots, each with replicas, to be killed and resharded."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import redis
from redis.crc import key_slot

from tests.support.ports import free_port
from tests.support.valkey_servers import ValkeyServers
from tests.support.waiting import eventually

SLOTS = 16_384
NODE_TIMEOUT = 700
"""Milliseconds of silence after which a server is given up, where servers are killed."""
NODE_PATIENCE = 15_000
"""The same where none is: a server without a processor for a moment is no dead one."""


class ValkeyCluster(ValkeyServers):
    """``primaries`` servers with ``replicas`` each, below ``place``, until the context is left.

    ``primaries`` and ``replicas_of`` are ports as they were at the start.
    """

    def __init__(
        self,
        place: Path,
        *,
        primaries: int = 3,
        replicas: int = 1,
        password: str = "",
        node_timeout: int = NODE_TIMEOUT,
        options: tuple[str, ...] = (),
    ) -> None:
        super().__init__(place, password)
        self._options = options
        self._node_timeout = node_timeout
        self._bus: dict[int, int] = {}
        self.primaries = [self._port() for _ in range(primaries)]
        self.replicas_of = {port: [self._port() for _ in range(replicas)] for port in self.primaries}

    @property
    def url(self) -> str:
        """The URL of the cluster, as the setting ``redis.url`` takes it."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.primaries)
        return f"redis+cluster://{f':{self._password}@' if self._password else ''}{hosts}"

    @property
    def servers(self) -> list[int]:
        """The ports of all servers that run."""
        return list(self._processes)

    def client_of_all(self) -> Any:
        """Return redis-py's client of the whole cluster; the caller closes it."""
        first = next(iter(self._processes))
        return redis.RedisCluster(
            host="127.0.0.1", port=first, password=self._password or None, decode_responses=True
        )

    def owner(self, key: str) -> int:
        """Return the port of the primary that has the slot of ``key``."""
        return self.owner_of_slot(key_slot(key.encode()))

    def owner_of_slot(self, slot: int) -> int:
        """Return the port of the primary of a slot."""
        return next(port for port in self._owners() if slot in self.slots_of(port))

    def slots_of(self, port: int) -> set[int]:
        """Return the slots of a primary."""
        return self._owners()[port]

    def _owners(self) -> dict[int, set[int]]:
        """Return the slots of all primaries, as a server that works says it."""
        owners: dict[int, set[int]] = {}
        with self.client(next(iter(self._processes))) as server:
            for first, last, (_, owner, *_), *_ in server.execute_command("CLUSTER", "SLOTS"):
                owners.setdefault(int(owner), set()).update(range(first, last + 1))
        return owners

    def process_id(self, port: int) -> int:
        """Return the process of a server."""
        return self._processes[port].pid

    def add_primary(self) -> int:
        """Start a server without slots that belongs to the cluster; return its port."""
        port = self._port()
        self._start(port)
        with self.client(port) as server:
            self._meet(server)
        assert eventually(lambda: all(self._knows(other, len(self._processes)) for other in self._processes))
        return port

    def move(self, slot: int, target: int, *, batch: int = 10) -> None:
        """Move a slot key by key to another primary, as ``valkey-cli --cluster reshard`` does."""
        source = self.owner_of_slot(slot)
        if source == target:
            return
        with self.client(source) as old, self.client(target) as new:
            new.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", self.name(source))
            old.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", self.name(target))
            while keys := old.execute_command("CLUSTER", "GETKEYSINSLOT", slot, batch):
                secret = ("AUTH", self._password) if self._password else ()
                old.execute_command("MIGRATE", "127.0.0.1", target, "", 0, 5000, *secret, "KEYS", *keys)
            for server in (new, old):
                server.execute_command("CLUSTER", "SETSLOT", slot, "NODE", self.name(target))

    def name(self, port: int) -> str:
        """Return the name of a server in the cluster."""
        with self.client(port) as server:
            return str(server.execute_command("CLUSTER", "MYID"))

    def empty(self) -> None:
        """Remove all keys."""
        for port in self.servers:
            with self.client(port) as server:
                if server.info("replication")["role"] == "master":
                    server.flushall()

    def is_whole(self) -> bool:
        """Whether each server that runs sees an owner of each slot."""
        return all(self._state(port) == ("ok", str(SLOTS)) for port in self._processes)

    def _begin(self) -> None:
        replicas = [port for ports in self.replicas_of.values() for port in ports]
        for port in (*self.primaries, *replicas):
            self._start(port)
        for number, port in enumerate(self.primaries):
            share = [SLOTS * place // len(self.primaries) for place in (number, number + 1)]
            with self.client(port) as server:
                server.execute_command("CLUSTER", "ADDSLOTSRANGE", share[0], share[1] - 1)
                server.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for port in (*self.primaries[1:], *replicas):
            with self.client(port) as server:
                self._meet(server)
        assert eventually(lambda: all(self._knows(port, len(self._processes)) for port in self._processes))
        for primary, ports in self.replicas_of.items():
            for port in ports:
                with self.client(port) as server:
                    server.execute_command("CLUSTER", "REPLICATE", self.name(primary))
        assert eventually(lambda: self.is_whole() and all(map(self._follows, replicas)))

    def _knows(self, port: int, servers: int) -> bool:
        with suppress(redis.RedisError), self.client(port) as server:
            return _facts(server)["cluster_known_nodes"] == str(servers)
        return False

    def _state(self, port: int) -> tuple[str, str]:
        with suppress(redis.RedisError), self.client(port) as server:
            facts = _facts(server)
            return facts["cluster_state"], facts["cluster_slots_ok"]
        return "away", ""

    def _port(self) -> int:
        """Return a free port, and choose one for the bus."""
        port = free_port()
        self._bus[port] = free_port()
        return port

    def _meet(self, server: Any) -> None:
        first = self.primaries[0]
        server.execute_command("CLUSTER", "MEET", "127.0.0.1", first, self._bus[first])

    def _start(self, port: int) -> None:
        bus, patience = str(self._bus[port]), str(self._node_timeout)
        self._serve(
            port,
            *("--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", patience),
            *("--cluster-require-full-coverage", "no", "--cluster-allow-replica-migration", "no"),
            *self._options,
        )


def _facts(server: Any) -> dict[str, str]:
    facts = server.execute_command("CLUSTER", "INFO")
    return facts if isinstance(facts, dict) else dict(line.split(":", 1) for line in str(facts).splitlines())
