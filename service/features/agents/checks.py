"""The check of ``doctor`` about agents."""

from typing import Final

from service.features.agents import store
from service.features.agents.sentences import sentence
from service.operator.findings import NAMED, Check, Finding, Installation, few, ok, warning


async def agents(installation: Installation) -> Finding:
    """Report agents without an owner: they are suspended."""
    async with installation.records() as connection:
        enabled = await store.all_enabled(connection)
        known = await store.agents(connection)
    suspended = [agent for agent in known if agent.suspended]
    if suspended:
        return warning(
            sentence(
                "agents_suspended", count=len(suspended), agents=few([agent.user_name for agent in suspended])
            ),
            sentence("give_agents_owners"),
            users=[(agent.id, agent.user_name) for agent in suspended[:NAMED]],
        )
    if not enabled:
        return ok(sentence("agents_switched_off", count=len(known)))
    return ok(sentence("no_agent_suspended", count=len(known)))


CHECKS: Final = (Check("agents", agents, after="api-keys"),)
"""The check of the feature."""
