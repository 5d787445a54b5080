"""The port by which followers are sent agents and delegations; one feature keeps them."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple, TypeAlias

from service.kernel.feature import provided
from service.records.database.transactions import Connection


class AgentRow(NamedTuple):
    """An agent that is switched on and not suspended, and its owner."""

    id: int
    owner_id: int


class DelegationRow(NamedTuple):
    """A delegation, which may have expired; ``until`` in seconds since the epoch."""

    id: int
    user_id: int
    agent_id: int
    codes: Sequence[str]
    ask_me: Sequence[str]
    services: Sequence[str]
    until: float


class FollowedDelegations(NamedTuple):
    """The switch of all agents, and the agents and the delegations of some users, in the order of ids.

    ``agents`` are those of the users that are agents, ``delegations`` those that the users have made.
    """

    all_enabled: bool
    agents: list[AgentRow]
    delegations: list[DelegationRow]


ReadDelegations: TypeAlias = Callable[[Connection, Collection[int]], Awaitable[FollowedDelegations]]
"""Returns the switch of all agents, and the agents and the delegations of the users with the given ids."""


def read_delegations_of(off: Collection[str]) -> ReadDelegations | None:
    """Return the reader of delegations; None if the feature is ``off``, which refuses tokens of agents."""
    readers: tuple[ReadDelegations, ...] = tuple(provided("followed-delegations", off).values())
    return readers[0] if readers else None
