"""Refuses changes that break a statement of ``invariants.yaml``."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Final

from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.policy_guard import Completed
from service.authz.publishing.revisions import PATIENCE
from service.errors import Conflict
from service.features.policy_checks import last_administrator
from service.features.policy_checks.lockout import require_able, require_way_back
from service.kernel.core_sentences import sentence
from service.kernel.write import DryRun
from service.laboratory.invariants.checking import Holders, Situation, Violation, check, newly_broken
from service.laboratory.invariants.spans import Held, Span
from service.laboratory.invariants.statements import Invariants
from service.records import assignments, role_holdings, role_rights, roles
from service.records.assignments import Present
from service.records.database.transactions import Connection
from service.records.published import policy_revisions


async def broken_invariants(
    connection: Connection, invariants: Invariants, policy: Policy
) -> tuple[Violation, ...]:
    """Return the violations of ``invariants`` by ``policy``, with the stored roles and users; only reads."""
    holders = await _holders(connection, invariants)
    return (await asyncio.to_thread(check, invariants, policy, holders)).violations


async def _holders(connection: Connection, invariants: Invariants) -> Holders | None:
    if not invariants.about_roles:
        return None
    return replace(await users_over_time(connection, invariants), codes=await roles.held_codes(connection))


async def users_over_time(connection: Connection, invariants: Invariants) -> Holders:
    """Return which users have which roles, now and later, as far as a statement is about it; no codes."""
    if not invariants.about_users:
        return Holders({})
    now = await assignments.now(connection)
    changing = {
        name: tuple(
            Held(role, Span(None if begin is None or begin <= now else begin, end))
            for role, begin, end in windows
        )
        for name, windows in (await role_holdings.changing(connection, now)).items()
    }
    users = {
        having: staying
        for having, names in (await role_holdings.names_by_roles(connection, Present(now))).items()
        if (staying := tuple(name for name in names if name not in changing))
    }
    return Holders({}, users, changing, now)


class StoredPolicyGuard:
    """Keeps the statements that the node knows, in changes of the policy and of rights.

    A statement that was broken before may stay broken. It must not break in further ways.
    """

    def __init__(self, live: LivePolicy) -> None:
        self._live = live
        self._invariants: Final = live.invariants

    @asynccontextmanager
    async def keeping(self, connection: Connection, dry_run: DryRun | None = None) -> AsyncIterator[None]:
        """Let the block change roles and users; Conflict, which rolls back, if it breaks a statement.

        Unavailable when this worker can't follow the newest policy within ``PATIENCE`` seconds.
        """
        before = await self.holders(connection)
        yield
        if before is not None:
            latest = await policy_revisions.latest(connection)
            policy = await self._live.at_least(latest.revision if latest else 0, within=PATIENCE)
            await self._require_invariants(connection, Situation(policy, before), policy, dry_run)

    async def holders(self, connection: Connection) -> Holders | None:
        """Return the holdings that statements are about, before or after a change.

        The lock of rights is then held until the transaction ends: of two changes that together would break a
        statement, the second one is refused.
        """
        if self._invariants.about_roles:
            await role_rights.lock(connection)
        return await _holders(connection, self._invariants)

    def keeping_an_administrator(
        self, connection: Connection, change: Completed | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Let a block change rights or factors; see ``last_administrator.keeping``."""
        return last_administrator.keeping(self._live, connection, change)

    async def require(
        self,
        connection: Connection,
        before: Policy,
        holders: Holders | None,
        policy: Policy,
        dry_run: DryRun | None,
    ) -> None:
        """Check ``policy`` and the stored data; see ``PolicyGuard``."""
        await require_way_back(policy, before)
        await require_able(connection, policy, before)
        await self._require_invariants(connection, Situation(before, holders), policy, dry_run)

    async def _require_invariants(
        self, connection: Connection, before: Situation, policy: Policy, dry_run: DryRun | None
    ) -> None:
        """Check the stored data, with ``policy``, against the situation ``before`` the change.

        Raises Conflict with the name, the reason and a finding of each broken statement, as
        ``brokenInvariants``; a ``dry_run`` gets a warning. The first policy has no predecessor to compare
        with.
        """
        if not self._invariants.statements or not before.policy.revision:
            return
        same = policy.digest == before.policy.digest
        after = Situation(before.policy if same else policy, await self.holders(connection))
        violations = await asyncio.to_thread(newly_broken, self._invariants, before, after)
        if not violations:
            return
        if dry_run is not None:
            dry_run.warn(
                sentence(
                    "would_violate",
                    name=violation.statement.name,
                    finding=violation.finding,
                    reason=violation.statement.reason,
                )
                for violation in violations
            )
            return
        raise broken(violations)


def broken(violations: Sequence[Violation]) -> Conflict:
    """Return the refusal of a change that would break statements."""
    members = [
        {
            "name": violation.statement.name,
            "reason": str(violation.statement.reason),
            "reasonCode": violation.statement.reason.code,
            "reasonParams": violation.statement.reason.params,
            "finding": str(violation.finding),
            "findingCode": violation.finding.code,
            "findingParams": violation.finding.params,
        }
        for violation in violations
    ]
    names = ", ".join(dict.fromkeys(violation.statement.name for violation in violations))
    return Conflict(sentence("invariant_violated", names=names), rule="invariant", brokenInvariants=members)
