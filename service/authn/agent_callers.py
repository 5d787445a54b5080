"""The port by which the core asks who sends a request with a token of an agent; one feature keeps agents."""

from collections.abc import Collection
from typing import Protocol

from service.authn.claims import DelegatedClaims
from service.authn.current_rights import CurrentRights
from service.authn.verified import Authenticated
from service.kernel.feature import provided
from service.keyspace import SessionStore
from service.records.database.transactions import Database


class AgentCallers(Protocol):
    """Finds the person for whom an agent acts, checked at each request."""

    async def person_of(self, agent_id: int, delegation_id: int) -> int:
        """Return the id of the person who delegated to that agent.

        Raises ``TokenInvalid`` for an unknown delegation and for one to another agent, and ``Unavailable``.
        """

    async def of_token(self, claims: DelegatedClaims) -> Authenticated:
        """Return the person, within the ceilings of the agent and of the delegation.

        Raises ``TokenInvalid`` if the token is not worth anything now, whatever the reason, and
        ``Unavailable``.
        """


def agent_callers_of(
    database: Database, store: SessionStore, current: CurrentRights, off: Collection[str]
) -> AgentCallers | None:
    """Return the finder of the callers of agents' tokens; None if the feature is ``off``."""
    makers = tuple(provided("agent-callers", off).values())
    return makers[0](database, store, current) if makers else None
