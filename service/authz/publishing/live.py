"""The policy in force in this process: loaded whole, swapped by one assignment, kept if a load fails."""

import asyncio
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Final

from service.audit.seals import UNSEALED, Judgement, RevisionSeals
from service.authz.engine.lines import Lines, changes
from service.authz.engine.policy import Policy
from service.authz.engine.rules import PolicyError
from service.authz.publishing.shipped import Shipped
from service.errors import Unavailable
from service.kernel.core_sentences import sentence
from service.kernel.restore_epoch import CurrentRestoreEpoch
from service.records import menus
from service.records.database.transactions import Connection, Database
from service.records.installation import restore_epochs
from service.records.published import policy_history, policy_lines, policy_revisions
from service.records.published.bit_positions import UNCONFIRMED
from service.records.published.policy_lines import Stored
from service.records.published.policy_revisions import PolicyRevision

LOAD_WITHIN: Final = 60.0
"""Seconds that reading a policy may take; a hundred thousand lines take a few."""


class UntrustedRevisionError(PolicyError):
    """The newest revision was not published here; ``judgement`` has the evidence."""

    def __init__(self, revision: int, judgement: Judgement) -> None:
        reason = judgement.reason or ""
        super().__init__(sentence("revision_untrusted_since", revision=revision, reason=reason))
        self.judgement = judgement


_FORGOTTEN: Final = Judgement("forged", sentence("stored_lines_differ"))
_UNCONFIRMED: Final = UNCONFIRMED.total_seconds()


_now: Final = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
"""Returns the seconds since boot; each request asks for them."""


class LivePolicy:
    """Holds the policy in force; before the first load, a policy that denies everything.

    Take ``current`` once per request, so that all its decisions use one revision, and one instant.
    """

    def __init__(
        self, shipped: Shipped, seals: RevisionSeals, clock: Callable[[], float] | None = None
    ) -> None:
        """Decide with the lines of ``shipped``, by revisions that ``seals`` trusts.

        Lines end by ``clock``, which returns seconds since the epoch: the session store's, or that of this
        machine for a command without a store.
        """
        self._clock = clock or time.time
        self.seals: Final = seals
        self.restore_epoch = CurrentRestoreEpoch()
        """The restore epoch of the database that the policy was read from."""
        self._restore_epoch_at = 0
        self._none = self._newest = Policy(shipped.model_text, own_digest=shipped.digest)
        self._after = lru_cache(maxsize=1)(Policy.after)  # most reads are within one interval between ends
        self._confirmed = _now()
        self._shipped = shipped
        self.loaded = 0.0
        """Time of loading the policy in force, in seconds since the epoch; 0 before the first one."""
        self._loading = asyncio.Lock()
        self._swapped = asyncio.Event()

    @property
    def current(self) -> Policy:
        """The policy in force; a policy that denies everything when it was not confirmed for ``UNCONFIRMED``.

        A bit of a token may mean another code by then, in a policy that this process never received. An
        expired line is no part of it: expiry is checked at each use, so no job has to run.
        """
        if _now() >= self._confirmed + _UNCONFIRMED:
            return self._none
        newest = self._newest
        return self._after(newest, bisect_right(newest.ends, self.instant())) if newest.ends else newest

    def as_now(self, policy: Policy) -> Policy:
        """Return ``policy`` as it decides at this moment."""
        return policy.at(self.instant())

    def instant(self) -> float:
        """Return the time by which lines end, in seconds since the epoch."""
        return self._clock()

    @property
    def own_digest(self) -> str:
        """The digest of this node's static policy."""
        return self._shipped.digest

    @property
    def invariants(self) -> Any:
        """The statements that changes on this node must not break."""
        return self._shipped.invariants

    @property
    def takeover_days(self) -> int:
        """Number of days for which an act on an account lets its holder count as its owner."""
        return self._shipped.takeover_days

    def confirm(self, since: float) -> None:
        """Record that at the time ``since`` (by ``now``) others knew the revision of this process.

        A withdrawn policy does not come back: the next loaded policy is confirmed then.
        """
        self._newest = self.current
        self._confirmed = max(self._confirmed, since)

    @staticmethod
    def now() -> float:
        """Return the seconds since the start of the machine, including time asleep."""
        return _now()

    async def load(self, database: Database) -> bool:
        """Put the newest published policy in force; return True if a newer one was found.

        The lines added and removed since the current revision are read and applied. If they are unknown, or
        do not give the published digest, all published lines are read. Everything is read in one snapshot,
        with regular yields to the event loop; the policy is built in a thread from the node's own lines and
        the shared ones. After a failure the current policy stays. Raises PolicyError if nothing was published
        or the stored lines are not the published ones, UntrustedRevisionError if the revision was not
        published here, Unavailable if the database is out of reach. Concurrent loads are serialised, and read
        one row if there is nothing newer.
        """
        async with self._loading:
            async with database.snapshot(within=LOAD_WITHIN) as connection:
                latest = await policy_revisions.latest(connection)
                if latest is None:
                    raise PolicyError(sentence("no_policy_published"))
                current = self.current
                await self.follow_restore_epoch(connection, latest.revision)
                if latest.revision <= current.revision:
                    return False
                judgement = await self.seals.judged(connection, latest)
                if not judgement.is_trusted:
                    raise UntrustedRevisionError(latest.revision, judgement)
                bits = await menus.permission_bits(connection)
                policy = await self._followed(connection, current, latest, bits)
                if policy is None:
                    if judgement is UNSEALED and not await _is_in_history(connection, latest.revision):
                        raise UntrustedRevisionError(latest.revision, _FORGOTTEN)
                    stored = await connection.run_sync(policy_lines.stored)
                    policy = await asyncio.to_thread(self._whole, stored, bits, latest.revision)
            if policy.digest != latest.digest:
                raise PolicyError(sentence("published_digest_differs", revision=latest.revision))
            return self.offer(policy)

    async def follow_restore_epoch(self, connection: Connection, newest: int) -> None:
        """Read the restore epoch, unless that was done when ``newest`` was the newest revision already.

        Each restore publishes a revision.
        """
        if newest != self._restore_epoch_at:
            self.restore_epoch.name = await restore_epochs.current(connection)
            self._restore_epoch_at = newest

    async def _followed(
        self, connection: Connection, current: Policy, latest: PolicyRevision, bits: Mapping[str, int]
    ) -> Policy | None:
        """Return the policy of ``latest`` by what changed since ``current``; None if that is not known."""
        if not current.revision:
            return None
        if not await policy_revisions.all_recorded(connection, current.revision + 1, latest.revision):
            return None
        changes = await policy_history.difference(connection, current.revision, latest.revision)

        def made() -> Policy:
            shared = current.shared.edited(changes.added, changes.removed)
            return self._shipped.policy(shared, bits, latest.revision, like=current)

        with suppress(PolicyError):
            policy = await asyncio.to_thread(made)
            return policy if policy.digest == latest.digest else None
        return None

    def _whole(self, stored: Stored, bits: Mapping[str, int], revision: int) -> Policy:
        return self._shipped.policy(published(stored), bits, revision)

    def offer(self, policy: Policy) -> bool:
        """Put ``policy`` in force if it is newer than the current one; return True if it was."""
        newer = policy.revision > self.current.revision
        if newer:
            self._newest, self._confirmed = policy, _now()  # it was stored a moment ago
            self.loaded = time.time()
            self._swapped.set()
            self._swapped = asyncio.Event()
        return newer

    async def remapped(self) -> None:
        """Wait until a policy is in force whose map of permissions differs from that of this moment."""
        before = self._newest.permission_map.positions
        while self._newest.permission_map.positions == before:
            await self._swapped.wait()

    async def at_least(self, revision: int, *, within: float) -> Policy:
        """Wait for a policy of ``revision`` or newer and return it.

        Raises Unavailable after ``within`` seconds.
        """
        try:
            async with asyncio.timeout(within):
                while self.current.revision < revision:
                    await self._swapped.wait()
        except TimeoutError:
            raise Unavailable(sentence("revision_too_old", revision=revision)) from None
        return self.current


async def _is_in_history(connection: Connection, revision: int) -> bool:
    """Return True if history has the stored lines too; an attacker who changes lines may forget history."""
    return not await policy_history.tampered(connection, revision)


def published(stored: Stored) -> Lines:
    """Return all published lines, in order; raises PolicyError for rows that are no lines."""
    if stored.strangers:
        raise PolicyError(sentence("rows_not_lines", count=stored.strangers))
    return Lines().changed(changes({}, stored.objects))
