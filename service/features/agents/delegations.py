"""Delegations: what a person lets an agent do, for which services and until when."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from service.administration import change_log
from service.administration.delegation import Delegation, DelegationCheck
from service.administration.older_nodes import require_known
from service.authn.revocations import Revocations
from service.authn.sessions import live_session
from service.errors import Conflict, NotFound, ValidationFailed
from service.features.agents import store, store_delegations
from service.features.agents.sentences import sentence
from service.features.agents.store_delegations import StoredDelegation
from service.kernel.account_acts import Act
from service.kernel.clock import rfc3339
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import intersection
from service.kernel.identity import Caller, oneself
from service.kernel.notify import Facts, Notices
from service.kernel.origin import field_changes
from service.kernel.services import PORTCULLIS
from service.kernel.value_rules import code_fault
from service.keyspace import SessionStore
from service.records import role_rights
from service.records.database.transactions import Connection, Database
from service.records.published.policy_workers import AGENTS

ACT: Final[Act] = "delegate"
MOST: Final = 100
"""The most delegations of a person, and the most codes of one."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Delegations:
    """The delegations of people. ``longest`` is in seconds; a role of the person may allow longer ones.

    A delegation gives no right by itself: the policy decides each question about the codes of the person, of
    the agent, and of the delegation.
    """

    database: Database
    delegation: Delegation
    revocations: Revocations
    sessions: SessionStore
    notices: Notices
    longest: int

    async def create(
        self,
        caller: Caller,
        *,
        agent_id: int,
        codes: Collection[str],
        ask_me: Collection[str],
        services: Collection[str],
        expires_in: int,
    ) -> StoredDelegation:
        """Let an agent act for the caller for ``expires_in`` seconds.

        Raises ``ValidationFailed`` for a code that the caller does not hold, a code of ``ask_me`` outside of
        ``codes``, an unknown agent or service, and an expiry. Raises ``Conflict`` for a service account,
        for ``MOST`` delegations and beside a node of an older version, ``PermissionDenied`` for a caller with
        an API key, and
        ``InsufficientAuthentication`` without two factors of the last minutes, if the caller has them.
        Raises ``RefreshRequired`` if the session of the caller has ended meanwhile.
        """
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            if caller.kind != "person":
                raise Conflict(sentence("only_people_delegate"), rule="kind_of_account")
            await check.require_act(connection, oneself(caller), ACT)
            await require_known(connection, AGENTS)
            await check.require_factors(connection, "delegate-beside-factor")
            await live_session(self.sessions, caller)
            change_log.concerns(change_log.user_target(caller.user_name))
            longest = await self._longest(connection, caller.user_id)
            faults = self._faults(check, codes, ask_me, services)
            if expires_in > longest:
                faults.append(("expiresIn", sentence("delegation_lasts_too_long", most=longest)))
            if agent_id not in {agent.id for agent in await store.usable(connection)}:
                faults.append(("agentId", sentence("agent_not_usable")))
            if faults:
                raise ValidationFailed(*faults)
            if len(await store_delegations.of_person(connection, caller.user_id)) >= MOST:
                raise Conflict(sentence("too_many_own_delegations", most=MOST), rule="limit")
            made = await store_delegations.add(
                connection,
                user_id=caller.user_id,
                agent_id=agent_id,
                codes=sorted(set(codes)),
                ask_me=sorted(set(ask_me)),
                services=sorted(set(services)),
                seconds=expires_in,
            )
            facts: Facts = {"name": made.agent_name, "until": made.until}
            await self.notices.notify(connection, caller.user_id, "delegation_made", facts=facts)
            changes = field_changes(f"delegation:{made.id}", {}, _fields(made))
            change_log.saving(changes)
        change_log.saved(changes)
        return made

    async def own(self, caller: Caller) -> tuple[Sequence[StoredDelegation], int]:
        """Return the delegations of the caller in force, newest first, and the longest life of a new one."""
        async with self.database.snapshot() as connection:
            longest = await self._longest(connection, caller.user_id)
            return await store_delegations.of_person(connection, caller.user_id), longest

    async def _longest(self, connection: Connection, user_id: int) -> int:
        """Return the longest life of a new delegation in seconds; a role may allow more than the setting."""
        return max(self.longest, await role_rights.max_delegation(connection, user_id) or 0)

    async def listed(self, user_id: int | None, agent_id: int | None) -> Sequence[StoredDelegation]:
        """Return the delegations in force of a person, of an agent, or all, the newest first."""
        async with self.database.snapshot() as connection:
            return await store_delegations.listed(connection, user_id, agent_id)

    async def end_own(self, caller: Caller, delegation_id: int) -> None:
        """End a delegation of the caller; its tokens are refused from the next request on.

        Raises ``NotFound``, and ``PermissionDenied`` for a caller with an API key.
        """
        await self._end(caller, delegation_id, own=True)

    async def end(self, caller: Caller, delegation_id: int) -> None:
        """End a delegation of any person on whom the caller may act. Raises as ``end_own``."""
        await self._end(caller, delegation_id, own=False)

    async def _end(self, caller: Caller, delegation_id: int, *, own: bool) -> None:
        async with self.database.transaction() as connection:
            await role_rights.set_pace(connection, "urgent")
            check = await self.delegation.check(connection, caller)
            of = caller.user_id if own else None
            if own:
                await check.require_act(connection, oneself(caller), ACT)
            gone = await store_delegations.end(connection, delegation_id, of)
            if gone is None:
                raise NotFound(sentence("no_such_delegation"))
            if not own:
                await check.target(connection, gone.user_id, "end-sessions")
            change_log.concerns(change_log.user_target(gone.user_name))
            await self.revocations.mark_first([gone.agent_id])
            changes = field_changes(f"delegation:{gone.id}", _fields(gone), {})
            change_log.saving(changes)
        change_log.saved(changes)
        await self.revocations.mark(gone.agent_id)

    def _faults(
        self,
        check: DelegationCheck,
        codes: Collection[str],
        ask_me: Collection[str],
        services: Collection[str],
    ) -> list[tuple[str, Sentence]]:
        held = check.stored.codes
        faults = [
            (f"codes[{place}]", fault)
            for place, code in enumerate(codes)
            if (fault := code_fault(code) or _code_fault(code, held))
        ]
        faults += [
            (f"askMe[{place}]", fault)
            for place, code in enumerate(ask_me)
            if (fault := code_fault(code) or _ask_me_fault(code, codes))
        ]
        faults += [
            (f"services[{place}]", sentence("service_unknown"))
            for place, service in enumerate(services)
            if service != PORTCULLIS and service not in check.policy.other_services
        ]
        return faults


def _code_fault(code: str, held: Collection[str]) -> Sentence | None:
    """Return the fault of a code that stands for all permissions, or of which nothing is held; None else.

    A pattern may stand for codes that are not held: each question is asked about the person too.
    """
    if code.partition(":")[0] == "*":
        return sentence("delegation_of_everything")
    return None if intersection(held, [code]) else sentence("code_not_yours")


def _ask_me_fault(code: str, codes: Collection[str]) -> Sentence | None:
    return None if intersection(codes, [code]) else sentence("ask_me_not_delegated")


def _fields(delegation: StoredDelegation) -> dict[str, Any]:
    """Return the logged fields of a delegation."""
    return {
        "agentId": delegation.agent_id,
        "codes": frozenset(delegation.codes),
        "askMe": frozenset(delegation.ask_me),
        "services": frozenset(delegation.services),
        "until": rfc3339(delegation.until),
    }
