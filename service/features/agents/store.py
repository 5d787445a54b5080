"""``sys.agent`` and ``sys.agent_switch``: agents, their owners and their switches."""

from datetime import datetime
from typing import Annotated, Final

import sqlalchemy as sa
from msgspec import Meta, Struct
from sqlalchemy.dialects.postgresql import insert as upsert

from service.features.agents.schema import agent, agent_switch, delegation
from service.kernel.value_rules import Id
from service.records import factors
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.rights import user

_OWNER: Final = user.alias("owner")


class StoredAgent(Struct, frozen=True, kw_only=True):
    """An agent with its owner; the owner is None after the deletion of that account."""

    id: Id
    user_name: Annotated[str, Meta(examples=["report-agent"])]
    nick_name: str
    owner_id: Id | None
    owner_name: Annotated[str, Meta(examples=["ann"])] | None
    enabled: Annotated[bool, Meta(description="The switch of this agent.")]
    suspended: Annotated[
        bool, Meta(description="The owner was disabled, banned or deleted: the agent needs another owner.")
    ]
    create_time: datetime


_AGENT: Final = RowMapper(
    StoredAgent,
    agent,
    id=agent.c.user_id,
    user_name=user.c.user_name,
    nick_name=user.c.nick_name,
    owner_name=_OWNER.c.user_name,
    suspended=sa.or_(agent.c.suspended, agent.c.owner_id.is_(None)),
)
_FROM: Final = agent.join(user, user.c.id == agent.c.user_id).outerjoin(
    _OWNER, _OWNER.c.id == agent.c.owner_id
)


async def agents(connection: Connection) -> list[StoredAgent]:
    """Return all agents, by id."""
    return await _AGENT.all(connection, _AGENT.select.select_from(_FROM).order_by(agent.c.user_id))


async def read(connection: Connection, agent_id: int) -> StoredAgent | None:
    """Return one agent; None for an account that is none."""
    return await _AGENT.one_or_none(
        connection, _AGENT.select.select_from(_FROM).where(agent.c.user_id == agent_id)
    )


async def usable(connection: Connection) -> list[StoredAgent]:
    """Return the agents to which a person may delegate now, by name."""
    ready = sa.and_(
        agent.c.enabled, ~agent.c.suspended, agent.c.owner_id.is_not(None), user.c.status == "enabled"
    )
    return await _AGENT.all(
        connection, _AGENT.select.select_from(_FROM).where(ready).order_by(user.c.user_name_key)
    )


async def put(connection: Connection, agent_id: int, owner_id: int, created_by: int) -> None:
    """Make a service account an agent of an owner, or give an agent another one, which ends a suspension."""
    new = upsert(agent).values(user_id=agent_id, owner_id=owner_id, created_by=created_by)
    changed = {"owner_id": owner_id, "suspended": False}
    await connection.execute(new.on_conflict_do_update(index_elements=["user_id"], set_=changed))


async def remove(connection: Connection, agent_id: int) -> None:
    """Make an agent a service account again; its delegations end."""
    await connection.execute(sa.delete(agent).where(agent.c.user_id == agent_id))


async def switch(connection: Connection, agent_id: int, enabled: bool) -> None:
    """Set the switch of one agent."""
    await connection.execute(sa.update(agent).where(agent.c.user_id == agent_id).values(enabled=enabled))


async def all_enabled(connection: Connection) -> bool:
    """Return the switch of all agents; True before its first use."""
    stored = await connection.scalar(sa.select(agent_switch.c.enabled))
    return True if stored is None else bool(stored)


async def switch_all(connection: Connection, enabled: bool) -> None:
    """Set the switch of all agents."""
    new = upsert(agent_switch).values(id=1, enabled=enabled)
    changed = {"enabled": enabled, "update_time": sa.func.now()}
    await connection.execute(new.on_conflict_do_update(index_elements=["id"], set_=changed))


async def ids(connection: Connection) -> list[int]:
    """Return the ids of all agents, in order."""
    return list(await connection.scalars(sa.select(agent.c.user_id).order_by(agent.c.user_id)))


async def end_with_sessions(connection: Connection, user_id: int) -> None:
    """End all delegations of a person, whose sessions all end; one that is being made is waited for."""
    await factors.lock(connection, user_id)
    await connection.execute(sa.delete(delegation).where(delegation.c.user_id == user_id))


async def end_restored(connection: Connection) -> None:
    """End all delegations of a backup: some may have been ended since. The port ``links-restored``."""
    await connection.execute(sa.delete(delegation))
