"""Agents: service accounts that may act for people, with an owner who is responsible; and their switches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from service.administration import change_log
from service.administration.delegation import Delegation, DelegationCheck
from service.authn.revocations import Revocations
from service.errors import Conflict, NotFound, ValidationFailed
from service.features.agents import store
from service.features.agents.sentences import sentence
from service.features.agents.store import StoredAgent
from service.kernel.account_acts import Act
from service.kernel.identity import Caller
from service.kernel.origin import FieldChange, field_changes
from service.records import role_rights, user_list
from service.records.database.transactions import Connection, Database

ACT: Final[Act] = "create-key"
"""The act of making an agent: like an API key, an agent lets a program act."""
ALL: Final = "agents"
"""The name of the switch of all agents in the operation log."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AgentSwitches:
    """Lists agents, and switches agents on and off.

    A change is in force for each request that begins after its answer.
    """

    database: Database
    revocations: Revocations

    async def listed(self) -> tuple[bool, Sequence[StoredAgent]]:
        """Return the switch of all agents, and all agents."""
        async with self.database.snapshot() as connection:
            return await store.all_enabled(connection), await store.agents(connection)

    async def switch(self, agent_id: int, enabled: bool) -> None:
        """Switch an agent on or off. Raises ``NotFound``."""
        async with self.database.transaction() as connection:
            await change_log.changes_rights(connection)
            before = await self._known(connection, agent_id)
            await store.switch(connection, agent_id, enabled)
            after = await store.read(connection, agent_id)
            changes = await self._changing(agent_id, before, after)
        await self._changed(agent_id, changes)
        _log.warning("an agent was switched", event_type="security", agent_id=agent_id, enabled=enabled)

    async def switch_all(self, enabled: bool) -> None:
        """Switch all agents on or off; the switches of single agents stay."""
        async with self.database.transaction() as connection:
            await change_log.changes_rights(connection)
            before = await store.all_enabled(connection)
            await store.switch_all(connection, enabled)
            agent_ids = await store.ids(connection)
            await self.revocations.mark_first(agent_ids)
            changes = field_changes(ALL, {"enabled": before}, {"enabled": enabled})
            change_log.concerns(ALL)
            change_log.saving(changes)
        change_log.saved(changes)
        await self.revocations.mark_all(agent_ids)
        _log.warning("all agents were switched", event_type="security", enabled=enabled)

    async def _known(self, connection: Connection, agent_id: int) -> StoredAgent:
        known = await store.read(connection, agent_id)
        if known is None:
            raise NotFound(sentence("no_such_agent"))
        return known

    async def _changing(
        self, agent_id: int, before: StoredAgent | None, after: StoredAgent | None
    ) -> list[FieldChange]:
        """Return the change for the operation log, and end the epoch of the agent before the commit."""
        known = before or after
        assert known is not None  # noqa: S101 - one of them exists
        change_log.concerns(change_log.user_target(known.user_name))
        await self.revocations.mark_first([agent_id])
        changes = field_changes(f"agent:{agent_id}", _fields(before), _fields(after))
        change_log.saving(changes)
        return changes

    async def _changed(self, agent_id: int, changes: list[FieldChange]) -> None:
        change_log.saved(changes)
        await self.revocations.mark(agent_id)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Agents(AgentSwitches):
    """Makes service accounts agents, for callers who may change these accounts."""

    delegation: Delegation

    async def usable(self) -> Sequence[StoredAgent]:
        """Return the agents to which a person may delegate now; none while all are switched off."""
        async with self.database.snapshot() as connection:
            return await store.usable(connection) if await store.all_enabled(connection) else []

    async def put(self, caller: Caller, agent_id: int, owner_id: int) -> StoredAgent:
        """Make a service account an agent of an owner, or give an agent another owner.

        A new owner ends a suspension. Raises ``NotFound`` for an unknown account, ``Conflict`` for that of a
        person, ``ValidationFailed`` for an owner who is no enabled person, and ``PermissionDenied`` for a
        caller who lacks a code of the account, or came with an API key.
        """
        async with self.database.transaction() as connection:
            check = await self.delegation.check(connection, caller)
            await self._target(connection, check, agent_id)
            account = await user_list.read(connection, agent_id)
            if account.kind != "service":
                raise Conflict(sentence("only_services_are_agents"), rule="kind_of_account")
            enabled = await role_rights.active_users(connection, [owner_id])
            if not any(owner.kind == "person" for owner in enabled):
                raise ValidationFailed(("ownerId", sentence("owner_not_enabled_person")))
            before = await store.read(connection, agent_id)
            await store.put(connection, agent_id, owner_id, caller.user_id)
            after = await store.read(connection, agent_id)
            assert after is not None  # noqa: S101 - just written
            changes = await self._changing(agent_id, before, after)
        await self._changed(agent_id, changes)
        return after

    async def remove(self, caller: Caller, agent_id: int) -> None:
        """Make an agent a service account again, and end the delegations to it. Raises as ``put``."""
        async with self.database.transaction() as connection:
            await role_rights.set_pace(connection, "urgent")
            check = await self.delegation.check(connection, caller)
            await self._target(connection, check, agent_id)
            before = await self._known(connection, agent_id)
            await store.remove(connection, agent_id)
            changes = await self._changing(agent_id, before, None)
        await self._changed(agent_id, changes)

    async def _target(self, connection: Connection, check: DelegationCheck, agent_id: int) -> None:
        check.require_session(ACT)
        await check.target(connection, agent_id, ACT, only_reads=True)


def _fields(agent: StoredAgent | None) -> dict[str, object]:
    if agent is None:
        return {}
    return {"ownerId": agent.owner_id, "enabled": agent.enabled, "suspended": agent.suspended}
