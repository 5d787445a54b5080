"""Agents and delegations for followers; the port ``followed-delegations``."""

from collections.abc import Collection
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from service.features.agents import store
from service.features.agents.schema import agent, delegation
from service.records.database.transactions import Connection
from service.records.followed_delegations import AgentRow, DelegationRow, FollowedDelegations

_IDS: Final = sa.bindparam("ids", type_=ARRAY(sa.BigInteger))
_AGENTS: Final = (
    sa.select(agent.c.user_id, agent.c.owner_id)
    .where(
        agent.c.user_id == sa.any_(_IDS),
        agent.c.enabled,
        ~agent.c.suspended,
        agent.c.owner_id.is_not(None),
    )
    .order_by(agent.c.user_id)
)
_DELEGATIONS: Final = (
    sa.select(
        delegation.c.id,
        delegation.c.user_id,
        delegation.c.agent_id,
        delegation.c.codes,
        delegation.c.ask_me,
        delegation.c.services,
        sa.cast(sa.extract("epoch", delegation.c.until), sa.Double()),
    )
    .where(delegation.c.user_id == sa.any_(_IDS))
    .order_by(delegation.c.user_id, delegation.c.id)
)


async def read(connection: Connection, user_ids: Collection[int]) -> FollowedDelegations:
    """Return the switch of all agents, and the agents and the delegations of the users ``user_ids``.

    Expired delegations are included until they are deleted, so that equal rows have equal answers.
    """
    all_enabled = await store.all_enabled(connection)
    if not user_ids:
        return FollowedDelegations(all_enabled, [], [])
    given = {"ids": list(user_ids)}
    agents = [AgentRow(*row) for row in await connection.execute(_AGENTS, given)]
    delegations = [DelegationRow(*row) for row in await connection.execute(_DELEGATIONS, given)]
    return FollowedDelegations(all_enabled, agents, delegations)
