"""Write entries to the revocation lists of a cluster."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from service.errors import Unavailable
from service.features.cluster.sentences import sentence
from service.keyspace import keys
from service.keyspace.confirming import Unconfirmed
from service.keyspace.following import AT_ONCE
from service.keyspace.scripts import Revoked, Scripts


class _Group:
    """Entries that are added to a list together."""

    def __init__(self) -> None:
        self.revoked: list[Revoked] = []
        self.is_written = False
        self.failed: Unavailable | None = None


class RevocationWriter:
    """Adds entries to the lists of a cluster; entries that arrive during a write are added together."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._next: dict[str, _Group] = {}

    async def add(self, tag: str, revoked: Sequence[Revoked]) -> None:
        """Wait until the list of a part has entries of all of ``revoked``.

        Raises ``Unconfirmed`` if the list has them but too few replicas do, and ``Unavailable``.
        """
        group = self._next.setdefault(tag, _Group())
        group.revoked += revoked
        async with self._turns[tag]:
            if self._next.get(tag) is group:
                del self._next[tag]
            if not group.is_written and group.failed is None:
                try:
                    await self._write(tag, group.revoked)
                except Unavailable as error:
                    group.failed = error
                else:
                    group.is_written = True
        if isinstance(group.failed, Unconfirmed):
            raise Unconfirmed from group.failed
        if group.failed is not None:
            raise Unavailable(sentence("revocations_unknown")) from group.failed

    async def _write(self, tag: str, revoked: Sequence[Revoked]) -> None:
        marked = [f"{user}:{until}" for kind, user, until in revoked if kind == "marked"]
        words: list[str] = []
        for start in range(0, len(marked), AT_ONCE):
            words += ("marked", " ".join(marked[start : start + AT_ONCE]))
        for kind, session, _ in revoked:
            if kind == "ended":
                words += (kind, session)
        latest = max(until for *_, until in revoked)
        await self._scripts.run("revoke", [self._scripts.names.of(keys.REVOCATIONS, tag)], latest, *words)
