"""Several edits of rights and of the policy in one transaction, under the rights of one caller."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Generic, TypeAlias, TypeVar

from service.administration import change_log
from service.administration.delegation import Delegation, DelegationCheck
from service.administration.events import watching
from service.authn.revocations import Revocations
from service.authz.engine.policy import Policy
from service.authz.publishing.changes import WITHIN, Change, PolicyChanges
from service.errors import Overloaded
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.feature import sole
from service.kernel.identity import Caller
from service.kernel.origin import FieldChange
from service.kernel.write import DryRun, Write
from service.records import user_list
from service.records.database.failures import BEING_CHANGED
from service.records.database.transactions import Connection, Database
from service.records.giving_way import paced
from service.records.role_rights import Pace

OF_ROLES_WITHIN: Final = 10.0
"""Seconds that edits of roles may take: ten thousand menus of a role need one or two."""


def unconditionally(_stored: object) -> None:
    """Accept any stored record, as ``match`` of an edit that was planned in the same transaction."""


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Saved(Generic[R]):
    """The saved record, and the policy in force with it; None if the change publishes nothing."""

    record: R
    policy: Policy | None = None


@asynccontextmanager
async def _warning_of_menus(connection: Connection, dry_run: DryRun | None) -> AsyncIterator[None]:
    """Let the block edit menus; a ``dry_run`` is warned of each new finding about the tree."""
    if dry_run is None:
        yield
        return
    async with sole("menu-warnings")(connection, dry_run):
        yield


class PublishingRequiredError(Exception):
    """An edit changes lines of the policy in a unit that publishes nothing: it needs one that does."""


Cause: TypeAlias = str | Callable[..., Sentence]
"""Describes a change in the list of revisions: a sentence, or a function of kind and name of its record."""


@dataclass(slots=True)
class UnitOfWork:
    """A transaction for edits of users, menus, resources and roles; see ``write``.

    ``check`` decides which codes the caller may grant. Edits add users whose tokens must be refreshed to
    ``refreshing``, and users whose sessions end to ``leaving``; ``follow_ups`` run after the commit. Edits
    add changed fields to ``changes``, and other affected records to ``targets``. The operation log receives
    both after the commit. ``warnings`` are sentences for the caller. A unit that publishes has the ``change``
    of the policy, and after the commit its ``policy``.
    """

    write: Write
    connection: Connection
    check: DelegationCheck
    change: Change | None = None
    refreshing: set[int] = field(default_factory=set)
    leaving: set[int] = field(default_factory=set)
    follow_ups: list[Callable[[], Awaitable[object]]] = field(default_factory=list)
    changes: list[FieldChange] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    warnings: list[Sentence] = field(default_factory=list)
    policy: Policy = field(init=False)

    @property
    def caller(self) -> Caller:
        """The caller under whose rights the edits are made."""
        return self.write.caller

    def authorized(self) -> None:
        """Declare that the caller may create a record, before the unit writes.

        Raises AnsweredBeforeError for a retry of a served request: the caller may see the answer again, since
        the same write would be allowed.
        """
        if self.write.idempotent is not None:
            self.write.idempotent.authorized()

    async def made(self, record: object) -> None:
        """Declare ``record`` as the result of the unit, from which the answer is made.

        In a unit that publishes, the answer is made once the policy exists, since it contains the revision.
        """
        if (idempotent := self.write.idempotent) is None:
            return
        if (change := self.change) is None:
            await idempotent.made(Saved(record))
            return
        change.before_commit(lambda: idempotent.made(Saved(record, change.policy)))

    def warn(self, sentence: Sentence) -> None:
        """Warn the caller about the change, in its dry run and in its answer."""
        self.warnings.append(sentence)

    def require_publishing(self) -> None:
        """Return in a unit that publishes the policy; PublishingRequiredError in another one."""
        if self.change is None:
            raise PublishingRequiredError

    def require_request(self, method: str, template: str, record_id: int | None = None) -> None:
        """Check that the caller may send the request of the single edit; PermissionDenied else."""
        path = template if record_id is None else template.replace("{id}", str(record_id))
        self.check.require_request(method, path, template)


class RightsUnits:
    """Begins transactions for edits of users and roles: all edits of one are saved, or none.

    A unit holds the lock of rights, so edits of all processes follow one another. An exception of the block
    rolls everything back, and a dry run is always rolled back. All units raise ``RefreshRequired`` if the
    caller was deleted, disabled or banned. They raise ``Conflict`` if no administrator would remain, and
    ``Unavailable``.
    """

    def __init__(self, database: Database, delegation: Delegation, revocations: Revocations) -> None:
        self._database = database
        self._delegation = delegation
        self._revocations = revocations
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def of_rights(
        self, write: Write, *, within: float | None = None, watched: bool = True, pace: Pace = "usual"
    ) -> AsyncIterator[UnitOfWork]:
        """Let the block make edits of users or roles, which publish nothing (decision 0027).

        ``within`` (seconds) replaces the usual limit of a transaction. A block that gives codes only to
        authors of requests of the caller is not ``watched``. ``pace`` is ``urgent`` for a block that only
        takes rights away or ends sessions, and ``bulk`` for one that may take long, as dry runs do.
        """
        if write.dry_run is not None:
            pace = "bulk"  # it may take long, and has the rows that it changes
        async with (
            nullcontext() if pace == "urgent" or write.dry_run is not None else self._own_turn(within),
            self._database.transaction(write, within=within) as connection,
            paced(self._database, connection, pace),
        ):
            async with self._delegation.changing(connection, write.dry_run):
                check = await self._delegation.check(connection, write.caller)
                unit = UnitOfWork(write, connection, check)
                async with watching(connection, check.watches) if watched else nullcontext():
                    yield unit
            await self._delegation.recheck_rights(self._database, connection, write.caller, check)
            await self._mark_first(unit)
        await self._finish(unit)

    async def has_roles(self, user_id: int, role_ids: Collection[int]) -> bool:
        """Return whether a user has these roles, as far as that can be text without a lock."""
        if not role_ids:
            return True
        async with self._database.snapshot() as connection:
            return {*role_ids} <= {role.id for role in (await user_list.read(connection, user_id)).roles}

    @asynccontextmanager
    async def _own_turn(self, within: float | None) -> AsyncIterator[None]:
        """Wait for other changes of this process without a connection, which urgent acts need."""
        try:
            async with asyncio.timeout(within or self._database.timeout):
                await self._turn.acquire()
        except TimeoutError:
            raise Overloaded(BEING_CHANGED, retry_after=2) from None
        try:
            yield
        finally:
            self._turn.release()

    async def _mark_first(self, unit: UnitOfWork) -> None:
        """Mark the users of ``unit`` before its commit; a dry run only receives their ids."""
        affected = sorted(unit.refreshing | unit.leaving)
        if unit.write.dry_run is None:
            change_log.saving(unit.changes, *unit.targets)
            await self._revocations.mark_first(affected)
        else:
            unit.write.dry_run.refresh(affected)
            unit.write.dry_run.warn(unit.warnings)

    async def _finish(self, unit: UnitOfWork) -> None:
        """Run the steps after the commit of ``unit``; a dry run has none."""
        if unit.write.dry_run is not None:
            return
        change_log.saved(unit.changes, *unit.targets)
        change_log.warned(unit.warnings)
        for follow_up in unit.follow_ups:
            await follow_up()
        await self._revocations.mark_all(sorted(unit.refreshing))


class UnitsOfWork(RightsUnits):
    """Begins transactions for edits of all records, also of those that publish the policy.

    A unit that publishes holds the lock of the policy too.
    """

    def __init__(
        self,
        database: Database,
        changes: PolicyChanges,
        delegation: Delegation,
        revocations: Revocations,
    ) -> None:
        super().__init__(database, delegation, revocations)
        self._changes = changes

    @asynccontextmanager
    async def publishing(
        self, write: Write, cause: Cause, *, within: float = WITHIN
    ) -> AsyncIterator[UnitOfWork]:
        """Let the block make edits of menus, resources and roles, and publish the resulting policy.

        ``cause`` describes the change in the list of revisions; the caller's name is added. ``within`` is in
        seconds. Raises also what ``PolicyChanges.begin`` raises, and ``PermissionDenied`` if the edits add a
        code that the caller may not grant.
        """
        caller = write.caller
        user_name = None if caller.is_operator else caller.user_name
        begun = self._changes.begin("", user_name=user_name, within=within, write=write)
        async with begun as change:
            async with self._delegation.keeping_an_administrator(change.connection, change):
                check = await self._delegation.check(change.connection, caller, change)
                change.author_ids = check.acting_ids
                unit = UnitOfWork(write, change.connection, check, change)
                menus = _warning_of_menus(change.connection, write.dry_run)
                async with watching(change.connection, check.watches), menus:
                    yield unit
                act = cause if isinstance(cause, str) else cause(**_named(unit.changes))
                change.cause = sentence("cause_by", act=act, user=caller.user_name)
            still = partial(self._delegation.recheck_rights, self._database, change.connection)
            change.before_commit(partial(still, caller, check))
            # A change that the new policy forbids must not make users refresh, so this comes last.
            change.before_commit(partial(self._mark_first, unit))
        unit.policy = change.policy
        await self._finish(unit)


def _named(changes: Sequence[FieldChange]) -> dict[str, str]:
    """Return the kind and the name of the first changed record."""
    kind, _, name = changes[0].target.partition(":") if changes else ("a", "", "record")
    return {"kind": kind, "name": name}
