"""The number of event streams of a session, by leases: those of a killed worker expire."""

from dataclasses import dataclass

from service.keyspace import keys
from service.keyspace.pipeline import PipelinedClient
from service.keyspace.scripts import Scripts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Streams:
    """Leases of open event streams. All raise ``Unavailable``."""

    client: PipelinedClient
    scripts: Scripts

    async def join(self, login_id: str, device: str, name: str, *, most: int, lease: float) -> bool:
        """Add the stream ``name`` to those of a session for ``lease`` seconds, or renew its lease.

        Returns False if the session has ``most`` other streams.
        """
        key = self.scripts.names.of(keys.streams(login_id, device))
        return bool(await self.scripts.run("stream_join", [key], most, round(1000 * lease), name))

    async def leave(self, login_id: str, device: str, name: str) -> None:
        """End the lease of a stream."""
        await self.client.ask("ZREM", self.scripts.names.of(keys.streams(login_id, device)), name)
