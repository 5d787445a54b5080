"""Changes of data from which the policy is derived: saved, published and put in force together."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, nullcontext
from typing import Final

import structlog

from service.authz.engine.policy import Policy
from service.authz.engine.rules import PolicyError
from service.authz.publishing.live import LivePolicy, UntrustedRevisionError
from service.authz.publishing.policy_guard import policy_guard
from service.authz.publishing.publisher import candidate, publish_if_changed
from service.authz.publishing.shipped import Shipped
from service.errors import Conflict, Unavailable
from service.kernel.core_sentences import sentence
from service.kernel.write import DryRun, Write
from service.records import role_rights
from service.records.database.transactions import Connection, Database
from service.records.giving_way import paced
from service.records.published import policy_revisions

WITHIN: Final = 30.0
"""Seconds that a change may take, with waiting; a hundred thousand resources take a few."""

_log = structlog.get_logger()


Check = Callable[[Policy], None]
"""Checks a policy that is about to be published; an error that it raises undoes the change."""


class Change:
    """A running change; ``policy`` is set before the last steps, and in force after the commit.

    ``now`` is its beginning, in seconds since the epoch, by the clock for the expiry of lines. ``author_ids``
    are the ids of its authors, for the list of revisions; None if not given.
    """

    policy: Policy

    def __init__(self, connection: Connection, now: float, cause: str = "") -> None:
        self.connection = connection
        self.now = now
        self.author_ids: Collection[int] | None = None
        self.cause = cause
        self._checks: list[Check] = []
        self._last_steps: list[Callable[[], Awaitable[None]]] = []

    def ask(self, check: Check) -> None:
        """Have ``check`` look at the candidate: the policy that follows from the change, not yet published.

        For questions about lines that the change itself makes.
        """
        self._checks.append(check)

    def check(self, candidate: Policy) -> None:
        """Run all registered checks on ``candidate``; raises their errors."""
        for check in self._checks:
            check(candidate)

    def before_commit(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run ``step`` after all checks have accepted the change, just before the commit.

        For effects outside the database, which a refused change must not have. An error of the step undoes
        the change.
        """
        self._last_steps.append(step)

    async def complete(self) -> None:
        """Do the last steps, in order; raises their errors."""
        for step in self._last_steps:
            await step()


def not_buildable(fault: PolicyError) -> Conflict:
    """Return the refusal of a change after which no policy could be built."""
    detail = sentence("policy_unbuildable")
    stated = [each.as_member() for each in fault.faults]
    return Conflict(detail, rule="consistent", faults=[*map(str, fault.faults)], faultSentences=stated)


class PolicyChanges:
    """Runs all changes of resources, bindings, Buttons and other sources of policy lines."""

    def __init__(
        self,
        database: Database,
        live: LivePolicy,
        shipped: Shipped,
        read: Callable[[], Shipped],
        announce: Callable[[int], Awaitable[None]],
    ) -> None:
        """Publish with the lines of ``shipped``; ``read`` reads them again from their origin.

        ``announce`` gets each new revision just before its commit; an error that it raises undoes the change.
        """
        self._database = database
        self._live = live
        self._shipped = shipped
        self._read = read
        self._announce = announce
        self._guard = policy_guard(live)
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def begin(
        self,
        cause: str,
        *,
        user_name: str | None = None,
        within: float = WITHIN,
        write: Write | None = None,
    ) -> AsyncIterator[Change]:
        """Save the block's changes by ``change.connection``, and publish the resulting policy.

        When the block has ended, all of it is committed and in force in this process, as ``change.policy``.
        ``cause`` is the act and its author, and ``user_name`` the requester, for the list of revisions.
        ``within`` is the limit in seconds once its turn has come. No other change of any process happens
        between the first statement of the block and the commit.

        An error of the block undoes everything. So does Conflict: with ``faults`` when no policy can be built
        from the new data, with ``lockedOut`` when it would close the administration of the policy to all,
        with ``brokenInvariants`` when it would break a statement. Unavailable also when the session store
        cannot announce the revision. The same when the database has lost revisions, which workers would keep
        in force, and when the newest revision is sealed by an unknown key.

        If ``write`` is a dry run, nothing is committed, written as lines, announced or in force, and it waits
        for no turn. The refusals are the same, except that a broken statement is a warning.
        """
        dry_run = None if write is None else write.dry_run
        async with self._own_turn() if dry_run is None else nullcontext():
            async with (
                self._database.transaction(write, within=within) as connection,
                paced(self._database, connection, "bulk"),
            ):
                await policy_revisions.lock(connection)
                change = Change(connection, self._live.instant(), cause)
                holders = await self._guard.holders(connection)
                yield change
                policy = change.policy = await self._publish(change, holders, user_name, dry_run)
                await change.complete()
                if dry_run is not None:
                    dry_run.publish(policy)
                elif policy.revision > self._live.current.revision:
                    # Not after the commit: from then on the change must neither fail nor be unknown to a
                    # worker that decides by an older revision.
                    await self._announce(policy.revision)
            if dry_run is None:
                self._live.offer(policy)

    async def reload(self, cause: str, *, user_name: str | None = None) -> Policy:
        """Derive the policy again from the stored data, publish it if it differs, and put it in force.

        For rows that were changed directly in the database, and for published lines that were tampered with.
        Conflict as for ``begin``, and when the model or the policy files can't be used, or are no longer
        those of the start: other workers would not know them.
        """
        await self._check_files()
        async with self.begin(cause, user_name=user_name) as change:
            pass
        return change.policy

    async def mend(self, cause: str, least: int) -> None:
        """Publish the stored data as a revision of at least ``least``, unless that has been done.

        For an unusable or untrusted newest revision, for a revision lost by the database, and for a first one
        with a seal. No check can refuse it: the stored data decide. Raises PolicyError if no policy can be
        built from them, and Unavailable.
        """
        async with self._own_turn():
            async with self._database.transaction(within=WITHIN) as connection:
                policy = await publish_if_changed(
                    connection, self._shipped, self._live.seals, cause, least=least, anew=True
                )
                if policy.revision > self._live.current.revision:
                    await self._announce(policy.revision)
            self._live.offer(policy)

    async def _check_files(self) -> None:
        try:
            shipped = await asyncio.to_thread(self._read)
        except PolicyError as fault:
            _log.error("the model or the policy files can't be used", reason=str(fault))
            raise Conflict(sentence("policy_files_unusable"), rule="consistent") from fault
        if shipped != self._shipped:
            raise Conflict(
                sentence("policy_files_changed"),
                rule="changed_meanwhile",
            )

    @asynccontextmanager
    async def _own_turn(self) -> AsyncIterator[None]:
        # Waiting here takes no connection; waiting for the lock of the database takes one from all readers.
        try:
            async with asyncio.timeout(WITHIN):
                await self._turn.acquire()
        except TimeoutError:
            raise Unavailable(sentence("policy_being_changed")) from None
        try:
            yield
        finally:
            self._turn.release()

    async def _publish(
        self,
        change: Change,
        holders: object,
        user_name: str | None,
        dry_run: DryRun | None,
    ) -> Policy:
        in_force = self._live.current
        try:
            if dry_run is not None:
                policy = self._live.as_now(await candidate(change.connection, self._shipped, in_force))
                change.check(policy)
            else:
                published = await publish_if_changed(
                    change.connection,
                    self._shipped,
                    self._live.seals,
                    change.cause,
                    lambda policy: change.check(self._live.as_now(policy)),
                    user_name=user_name,
                    author_ids=change.author_ids,
                    in_force=in_force,
                )
                policy, in_force = self._live.as_now(published), self._live.current
        except UntrustedRevisionError as fault:
            raise Unavailable(sentence("policy_unpublishable", fault=fault.stated)) from fault
        except PolicyError as fault:
            raise not_buildable(fault) from fault
        if policy.revision < in_force.revision or (
            policy.revision == in_force.revision and policy.digest != in_force.digest
        ):
            _log.error("the database has lost revisions", found=policy.revision, in_force=in_force.revision)
            raise Unavailable(sentence("revisions_lost"))
        await role_rights.settle(change.connection)
        await self._guard.require(change.connection, in_force, holders, policy, dry_run)
        return policy
