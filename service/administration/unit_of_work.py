"""Several edits of rights and of the policy in one transaction, under the rights of one caller."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Generic, TypeVar

from service.administration import change_log
from service.administration.delegation import Delegation, DelegationCheck, keeping_an_administrator
from service.authn.revocations import Revocations
from service.authz.engine.policy import Policy
from service.authz.publishing.changes import WITHIN, Change, PolicyChanges
from service.kernel import keyed_write
from service.kernel.change_record import FieldChange
from service.kernel.identity import Caller
from service.records.database.transactions import Connection, Database

OF_ROLES_WITHIN: Final = 10.0
"""Seconds that edits of roles may take: ten thousand menus of a role need one or two."""


def unconditionally(_stored: object) -> None:
    """Accept any stored record, as ``match`` of an edit that was planned in the same transaction."""


R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Saved(Generic[R]):
    """What was saved, and the policy that is in force with it; None if the change publishes nothing."""

    record: R
    policy: Policy | None = None


@dataclass(slots=True)
class UnitOfWork:
    """A transaction under way: the ``edits`` of menus, resources and roles are made in it.

    ``check`` says what the caller may grant. Edits add to ``refreshing`` the users whose tokens must be
    refreshed, to ``changes`` what they change, and to ``targets`` which other records that is about: the
    operation log is told both after the commit. A unit that publishes has the ``change`` of the policy, and
    after the commit its ``policy``.
    """

    connection: Connection
    caller: Caller
    check: DelegationCheck
    change: Change | None = None
    refreshing: set[int] = field(default_factory=set)
    changes: list[FieldChange] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    policy: Policy = field(init=False)

    async def made(self, record: object) -> None:
        """Say that the unit makes ``record``: what the answer to its request is made from.

        In a unit that publishes, the answer is made once there is a policy, which is the other part of it.
        """
        if (change := self.change) is None:
            await keyed_write.made(Saved(record))
            return

        async def published() -> None:
            await keyed_write.made(Saved(record, change.policy))

        change.before_commit(published)

    def require_request(self, method: str, template: str, record_id: int | None = None) -> None:
        """Return when the caller may send the request that makes an edit by itself; PermissionDenied else."""
        path = template if record_id is None else template.replace("{id}", str(record_id))
        self.check.require_request(method, path, template)


class UnitsOfWork:
    """Begins transactions for edits: all edits of one are saved, or none.

    A unit holds the lock of rights, and one that publishes also the lock of the policy, so that edits of all
    processes follow one another. What the block raises undoes everything. All raise ``RefreshRequired`` if
    the caller was deleted, disabled or banned, ``Conflict`` if no administrator would remain, and
    ``Unavailable``.
    """

    def __init__(
        self,
        database: Database,
        changes: PolicyChanges,
        delegation: Delegation,
        revocations: Revocations,
    ) -> None:
        self._database = database
        self._changes = changes
        self._delegation = delegation
        self._revocations = revocations

    @asynccontextmanager
    async def publishing(
        self, caller: Caller, cause: str, *, within: float = WITHIN
    ) -> AsyncIterator[UnitOfWork]:
        """Let the block make edits of menus, resources and roles, and publish the policy that follows.

        ``cause`` says what is done, for the list of revisions; the caller's name is added. ``within`` are
        seconds. Raises also what ``PolicyChanges.begin`` raises, and ``PermissionDenied`` if a code that the
        edits add turns out to be one that the caller may not grant.
        """
        user_name = None if caller.is_operator else caller.user_name
        begun = self._changes.begin(f"{cause} by {caller.user_name}", user_name=user_name, within=within)
        async with begun as change:
            async with keeping_an_administrator(change.connection):
                check = await self._delegation.check(change.connection, caller, change)
                unit = UnitOfWork(change.connection, caller, check, change)
                yield unit
            affected = sorted(unit.refreshing)
            # Nobody has to refresh for a change that the policy it would publish forbids.
            change.before_commit(partial(self._revocations.mark_first, affected))
        unit.policy = change.policy
        change_log.saved(unit.changes, *unit.targets)
        await self._revocations.mark_all(affected)

    @asynccontextmanager
    async def of_roles(self, caller: Caller) -> AsyncIterator[UnitOfWork]:
        """Let the block make edits of roles, which publish nothing (decision 0009)."""
        async with self._database.transaction(within=OF_ROLES_WITHIN) as connection:
            async with self._delegation.changing(connection):
                unit = UnitOfWork(connection, caller, await self._delegation.check(connection, caller))
                yield unit
            affected = sorted(unit.refreshing)
            await self._revocations.mark_first(affected)
        change_log.saved(unit.changes, *unit.targets)
        await self._revocations.mark_all(affected)
