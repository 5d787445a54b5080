"""Valkey with replicas and a Sentinel, to be killed and frozen."""

import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import redis

from tests.support.ports import free_port
from tests.support.valkey_servers import ValkeyServers
from tests.support.waiting import eventually

GROUP = "portcullis"
DOWN_AFTER = 500
"""Milliseconds of silence after which the Sentinels give a primary up, where primaries are killed."""
PATIENT = 15_000
"""The same where none is: a server without a processor for a moment is no dead one."""


class SentinelGroup(ValkeyServers):
    """A primary with ``replicas``, and ``sentinels`` that watch it, below ``place``.

    All run from entering the context until leaving it; ``password`` is that of the primary and of the
    Sentinels, if there is one.
    """

    def __init__(
        self,
        place: Path,
        *,
        replicas: int = 1,
        sentinels: int = 1,
        password: str = "",
        down_after: int = DOWN_AFTER,
    ) -> None:
        super().__init__(place, password)
        self._down_after = down_after
        self.servers = [free_port() for _ in range(1 + replicas)]
        self.sentinels = [free_port() for _ in range(sentinels)]

    @property
    def url(self) -> str:
        """The URL of the group, as the setting ``redis.url`` takes it."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.sentinels)
        password = quote(self._password, safe="")
        secret = f":{password}@" if password else ""
        options = f"&sentinel_password={password}" if password else ""
        return f"redis+sentinel://{secret}{hosts}/{GROUP}?db=0{options}"

    @property
    def primary(self) -> int:
        """The port of the primary, as a Sentinel names it."""
        with self.client(self.sentinels[-1]) as sentinel:
            address = sentinel.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", GROUP)
        return int(address[1])

    @property
    def replicas(self) -> list[int]:
        """The ports of the other servers."""
        primary = self.primary
        return [port for port in self.servers if port != primary]

    def cut_off_replicas(self) -> None:
        """Let no replica receive anything more from the primary: what it has sent before has arrived."""
        self.cut_off_replicas_of(self.primary)

    def fail_over(self) -> None:
        """Let the Sentinel promote a replica and demote the primary, which lives on; returns when it has."""
        old = self.primary
        with self.client(self.sentinels[0]) as sentinel:

            def begins() -> bool:
                with suppress(redis.ResponseError):  # it has not heard of the replica's health yet
                    sentinel.execute_command("SENTINEL FAILOVER", GROUP)
                    return True
                return False

            assert eventually(begins)
        self.wait_for_primary(old)

    def wait_for_primary(self, other_than: int, patience: float = 30.0) -> int:
        """Return the port of the next primary once it takes writes."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            with suppress(redis.RedisError):
                port = self.primary
                if port != other_than:
                    with self.client(port) as client:
                        client.set("written", "1")
                    return port
            time.sleep(0.01)
        raise AssertionError("there is no other primary")

    def _begin(self) -> None:
        primary, *replicas = self.servers
        self._serve(primary)
        for port in replicas:
            self._serve(port, "--replicaof", "127.0.0.1", str(primary))
        assert eventually(lambda: all(self._follows(port) for port in replicas))
        for port in self.sentinels:
            self._watch(port, primary)
        assert eventually(lambda: all(self._knows_all(port) for port in self.sentinels))

    def _knows_all(self, port: int) -> bool:
        with suppress(redis.RedisError), self.client(port) as sentinel:
            state = sentinel.sentinel_master(GROUP)
            others, replicas = state["num-other-sentinels"], state["num-slaves"]
            return [others, replicas] == [len(self.sentinels) - 1, len(self.servers) - 1]
        return False

    def _watch(self, port: int, primary: int) -> None:
        file = self._place / f"sentinel-{port}.conf"
        quorum = len(self.sentinels) // 2 + 1
        lines = [
            f"port {port}",
            "bind 127.0.0.1",
            f"sentinel monitor {GROUP} 127.0.0.1 {primary} {quorum}",
            f"sentinel down-after-milliseconds {GROUP} {self._down_after}",
            f"sentinel failover-timeout {GROUP} 5000",
        ]
        if self._password:
            lines += [f'sentinel auth-pass {GROUP} "{self._password}"', f'requirepass "{self._password}"']
            lines += [f'sentinel sentinel-pass "{self._password}"']
        file.write_text("\n".join(lines) + "\n")
        self._run(port, str(file), "--sentinel")
