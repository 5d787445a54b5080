"""Keeps the policy of this process current, even if announcements are lost."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from operator import attrgetter
from time import monotonic
from typing import Final

import structlog

from service.audit.seals import REVISION_EVENT
from service.authz.engine.policy import Policy
from service.authz.engine.rules import PolicyError
from service.authz.publishing.announced import AnnouncedRevision, Newest
from service.authz.publishing.live import LivePolicy, UntrustedRevisionError
from service.authz.publishing.static_policies import StaticPolicies
from service.errors import Unavailable
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.metrics import Health, State
from service.keyspace import Announcement
from service.records.database.transactions import Database
from service.records.published import bit_positions, policy_revisions, policy_workers
from service.records.published.policy_workers import REPORT_EVERY, NodeFacts, PolicyWorker

POLL_EVERY: Final = 0.5
"""Seconds between two reads of the database without announcements."""

UPKEEP_EVERY: Final = 60.0
"""Seconds between two rounds in which a worker removes expired rows and reports the life of its tokens."""
RETRY_EVERY: Final = 5.0
"""Seconds before loading a failed revision again."""

FOLLOW_WITHIN: Final = 5.0
"""Seconds behind a published revision after which this worker is not ready."""

_TELL_WITHIN: Final = 0.5  # seconds for reading the reports of others; less than a readiness check may take

Announced = Callable[[], AsyncGenerator[str, None]]
"""Begins to listen for published revisions; see ``records.database.servers``."""

Mend = Callable[[str, int], Awaitable[None]]
"""Publishes the stored data anew; see ``PolicyChanges.mend``."""

_NOTHING: Final = Announcement({}, None)
_LOST: Final = sentence("newest_revisions_lost")
_UNUSABLE: Final = sentence("revision_unusable")

_log = structlog.get_logger()


class PolicyWatch:
    """Loads each published revision as soon as it is announced, and also polls for new ones.

    An announcement may be lost, with the connection or in a failover; then the next check finds the revision.
    If a policy cannot be loaded, ``fault`` has the reason, and the last valid one stays in force. Each check
    reports the policy in force to ``sys.policy_worker``, under the name ``worker``. It reports to
    ``sys.token_life`` that it issues access tokens that live ``token_life`` seconds, and corrects the
    announcement by ``keep``. ``own_digests`` are the digests of the static policies that may serve, empty for
    all; ``static_policies`` compares the workers' policies. ``facts`` returns further facts of this worker
    about its node. The first report removes those of the workers ``former``, which have ended.

    The database is authoritative. ``mend`` replaces an untrusted newest revision, and one that no worker can
    use because its lines were changed. It also replaces a revision that the database has lost, or has no
    longer as it was in force. The stored data are then published with a number that no worker has seen. An
    untrusted revision is not announced, so the previous one still decides requests.
    """

    def __init__(
        self,
        live: LivePolicy,
        database: Database,
        announced: Announced,
        keep: AnnouncedRevision,
        worker: str,
        *,
        token_life: int,
        own_digests: Collection[str] = (),
        poll_every: float = POLL_EVERY,
        mend: Mend | None = None,
        former: Collection[str] = (),
        facts: Callable[[], NodeFacts | None] = lambda: None,
    ) -> None:
        self._live = live
        self._database = database
        self._announced = announced
        self._keep = keep
        self.worker = worker
        self._token_life = token_life
        self._poll_every = poll_every
        self._mend = mend
        self._facts = facts
        self.former = former
        self.static_policies: Final = StaticPolicies(live.own_digest, own_digests)
        self._due = asyncio.Event()
        self._refused = (0, 0.0)  # a revision that could not be loaded, and when to try it again
        self._newest = 0  # the newest revision of the database, and since when it is not in force here
        self._behind_since = 0.0
        self._seen: Newest | None = None  # the newest revision at the last check
        self._reported: tuple[int, str | None, dict[str, str]] | None = None
        self._report_again = 0.0
        self._upkeep_again = 0.0
        self.fault: str | None = None
        """Why the policy in force is not known to be the newest; None if it is."""
        self.untrusted: int | None = None
        """The newest revision of the database if its seal is not trusted; None if it is."""

    def name_worker(self, worker: str, former: Collection[str]) -> None:
        """Name the worker anew, and those before it, before ``run``."""
        self.worker, self.former = worker, former

    async def run(self) -> None:
        """Watch until cancelled; the first check is immediate."""
        async with asyncio.TaskGroup() as group:
            group.create_task(_forever(self._look_and_wait))
            group.create_task(_forever(self._listen))

    async def look(self) -> None:
        """Load a newer policy, if there is one, and report; raises only unexpected errors."""
        before = self._live.current
        self._seen = None
        try:
            if self._live.restore_epoch.name is None:  # by which the checkpoint is found
                await self._newest_of_database(_NOTHING)
            announced = await self._read_announced()
            latest = await self._newest_of_database(announced)
            newest = 0 if latest is None else latest.known(before)
            self._note(newest)
            if latest is None:
                await self._load(0)
            else:
                await self._follow(latest, before)
            await self._report()
            if latest is not None and self.fault is None and latest.revision == self._live.current.revision:
                self._seen = latest
        except Unavailable as refusal:
            self._say(refusal.detail)
        else:
            if latest is not None and newest:
                await self._keep_announced(newest, announced, latest.revision)

    async def _newest_of_database(self, announced: Announcement) -> Newest | None:
        async with self._database.transaction(even_if_emptied=True) as connection:
            mark = await policy_revisions.newest(connection)
            latest = await policy_revisions.latest(connection)
            if latest is not None:
                await self._live.follow_restore_epoch(connection, latest.revision)
                judgement = await self._live.seals.judged(connection, latest)
        # Revisions are never deleted, so that a database without one has lost its rows.
        self._database.emptied = latest is None and self._live.current.revision > 0
        return None if latest is None else Newest(latest, mark, judgement, announced)

    async def _follow(self, newest: Newest, before: Policy) -> None:
        """Put the newest revision in force, or publish the stored data if it is forged or others are lost."""
        lost, judgement = newest.lost_above(before), newest.judgement
        least = max(newest.revision, lost or 0) + 1
        if judgement.authenticity == "forged":
            if await self._republish(_forged(newest.revision, judgement.reason), newest.revision, least):
                return
        elif lost is not None and await self._republish(_LOST, newest.revision, least):
            return
        if not judgement.is_trusted and newest.revision <= self._live.current.revision:
            self._say(f"revision {newest.revision} is not trusted: {judgement.reason}", newest.revision)
        else:
            await self._load(newest.revision)

    async def workers(self) -> list[PolicyWorker]:
        """Return the recent reports of all workers of all nodes, and the present state of this one.

        Only this worker if the others cannot be read in time.
        """
        reported: list[PolicyWorker] = []
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(_TELL_WITHIN), self._database.transaction() as connection:
                reported = await policy_workers.present(connection)
        here = PolicyWorker(
            worker=self.worker,
            revision=self._live.current.revision,
            fault=self.fault,
            seen_time=datetime.now(UTC),
            own_digest=self.static_policies.digest,
        )
        return sorted(
            [here, *(other for other in reported if other.worker != self.worker)], key=attrgetter("worker")
        )

    def health(self) -> Health:
        """Return ``degraded`` while an older policy has to be kept, or it is not known whether it is older.

        Also while the newest revision is not trusted. ``down`` before there is any, and ``FOLLOW_WITHIN``
        seconds behind a published revision: by then each request that has to be decided by it is refused.
        """
        revision = self._live.current.revision
        behind = self.lag > FOLLOW_WITHIN
        state: State = "down" if not revision or behind else "degraded" if self.fault is not None else "up"
        details = {"revision": revision, "fault": self.fault, "untrusted": self.untrusted}
        return Health(state, details)

    @property
    def lag(self) -> float:
        """Seconds for which a newer revision than the one in force here has been known; 0 for none."""
        return monotonic() - self._behind_since if self._newest > self._live.current.revision else 0.0

    async def leave(self) -> None:
        """Report the end of this worker; without the database, its reports simply stop."""
        with suppress(Unavailable):
            async with self._database.transaction() as connection:
                await policy_workers.leave(connection, self.worker)

    def _note(self, newest: int) -> None:
        revision = self._live.current.revision
        if newest > revision >= self._newest:
            self._behind_since = monotonic()
        self._newest = newest

    async def _load(self, newest: int) -> None:
        refused, again = self._refused
        if newest == refused and monotonic() < again:
            return
        if 0 < newest <= self._live.current.revision:
            self._say(None)
            return
        try:
            await self._live.load(self._database)
        except PolicyError as fault:
            self._refused = (newest, monotonic() + RETRY_EVERY)
            untrusted = isinstance(fault, UntrustedRevisionError)
            self._say(str(fault), newest if untrusted else None)
            if isinstance(fault, UntrustedRevisionError) and fault.judgement.authenticity == "forged":
                await self._republish(_forged(newest, fault.judgement.reason), newest, newest + 1)
            # Not at once: other workers may be about to report that they can use it.
            elif newest == refused and not await self._is_used(newest):
                await self._republish(_UNUSABLE, newest, newest + 1)
        else:
            self._say(None)

    async def _is_used(self, newest: int) -> bool:
        """Return whether another worker decides by ``newest``, as one of another version might."""
        async with self._database.transaction() as connection:
            present = await policy_workers.present(connection)
        return any(other.revision >= newest for other in present if other.worker != self.worker)

    async def _republish(self, why: Sentence, newest: int, least: int) -> bool:
        """Publish the stored data, as revision ``least`` or a later one; return whether that was done."""
        if self._mend is None:
            return False
        in_force = self._live.current.revision
        _log.error(str(why), event_type="security", newest=newest, in_force=in_force)
        try:
            await self._mend(sentence("cause_derived_again", fault=why), least)
        except PolicyError as fault:
            self._say(str(fault))
            return False
        return True

    async def _report(self) -> None:
        facts = self._facts()
        parts = {} if facts is None else {name: part["state"] for name, part in facts["parts"].items()}
        now = (self._live.current.revision, self.fault, parts)
        due, upkeep = monotonic() >= self._report_again, monotonic() >= self._upkeep_again
        if now == self._reported and not due:
            return
        since = self._live.now()
        async with self._database.transaction() as connection:
            await policy_workers.report(
                connection, self.worker, *now[:2], own_digest=self.static_policies.digest, facts=facts
            )
            if upkeep:
                await policy_workers.forget(connection)
                await bit_positions.report_life(connection, self._token_life)
            if due:  # what does not follow from the revision
                await policy_workers.leave(connection, *self.former)
                present = await policy_workers.present(connection)
                self.static_policies.observe(present)
        self._live.confirm(since)
        self._reported = now
        if upkeep:
            self._upkeep_again = monotonic() + UPKEEP_EVERY
        if due:
            self._report_again, self.former = monotonic() + REPORT_EVERY, ()
            await self._demand_seals(present)

    async def _demand_seals(self, present: Collection[PolicyWorker]) -> None:
        """Publish a revision from which on each must have a seal, once all workers can make one."""
        seals, revision = self._live.seals, self._live.current.revision
        if self._mend is None or seals.sealed_from is not None or self.fault is not None or not revision:
            return
        if seals.can_all_seal(present):
            with suppress(PolicyError):  # the next change of the stored data reports it
                await self._mend(sentence("cause_sealed_from_here"), revision + 1)

    def _say(self, fault: str | None, untrusted: int | None = None) -> None:
        self.untrusted = untrusted
        if fault == self.fault:
            return
        self.fault = fault
        revision = self._live.current.revision
        if fault is None:
            _log.info("the policy is the newest again", revision=revision)
        else:
            _log.error("the policy can't be renewed", reason=fault, revision=revision)

    async def _look_and_wait(self) -> None:
        self._due.clear()
        if not await self._is_as_seen():
            await self.look()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._poll_every):
                await self._due.wait()

    async def _is_as_seen(self) -> bool:
        """Return False if something has changed since the last look; else report and mend as a look does.

        It costs a tenth of a look.
        """
        seen = self._seen
        # A revision that this worker published may be gone again before it was seen.
        if seen is None or seen.revision != self._live.current.revision:
            return False
        announced = await self._read_announced()
        try:
            if await policy_revisions.newest(self._database) != seen.mark or seen.is_behind(announced):
                return False
            await self._report()
        except Unavailable as refusal:
            self._seen = None
            self._say(refusal.detail)
            return True
        await self._keep_announced(seen.revision, announced, seen.revision)
        return True

    async def _read_announced(self) -> Announcement:
        # Before the database, which then has at least the revision in force at this moment.
        with suppress(Unavailable):  # the session store's own check reports it
            return await self._keep.read()
        return _NOTHING

    async def _keep_announced(self, known: int, announced: Announcement, newest: int) -> None:
        if announced is _NOTHING:  # it could not be read
            return
        with suppress(Unavailable):  # as above
            await self._keep.keep(known, announced, newest)
            seen = self._seen
            if seen is None or seen.checkpoint == announced.checkpoint:
                return
            if await self._keep.anchor(seen.checkpoint):
                _log.info(REVISION_EVENT, timeline=self._live.restore_epoch.name, **seen.checkpoint._asdict())

    async def _listen(self) -> None:
        with suppress(Unavailable):
            async with aclosing(self._announced()) as heard:
                async for _ in heard:
                    self._due.set()
        await asyncio.sleep(self._poll_every)


def _forged(revision: int, reason: Sentence | None) -> Sentence:
    return sentence("revision_forged", revision=revision, reason=reason or "")


async def _forever(step: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await step()
        except Exception:  # noqa: BLE001 - a watch that ended would leave its worker behind without a word
            _log.exception("the watch of the policy failed")
            await asyncio.sleep(RETRY_EVERY)
