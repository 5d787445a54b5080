"""The callers of tokens of agents, from the claims and the terms of the delegation: nodes and followers."""

from typing import NamedTuple

from msgspec import UNSET

from service.authn.claims import DelegatedClaims
from service.kernel.assurance import OF_PERSONAL_KEY
from service.kernel.codes import (
    BY_AGENT,
    BY_APPROVAL,
    BY_DELEGATION,
    BoundedCodes,
    Ceiling,
    intersection,
)
from service.kernel.identity import ActingAgent, Caller, device_of_agent


class Terms(NamedTuple):
    """The codes and services of a delegation, and the scopes of the agent's API key; None for all codes."""

    codes: tuple[str, ...]
    ask_me: tuple[str, ...]
    services: tuple[str, ...]
    key_scopes: tuple[str, ...] | None


def delegated_caller(claims: DelegatedClaims, terms: Terms, person: Caller, agent: Caller) -> Caller:
    """Return the person within the ceilings of the agent and of the delegation.

    ``person`` and ``agent`` have their current rights. The caller of this has checked that the claims belong
    to the delegation, and that all of them are in force.
    """
    of_agent = agent.held.codes
    if terms.key_scopes is not None:
        of_agent = intersection(of_agent, terms.key_scopes)
    delegated = frozenset(terms.codes)
    if claims.scope is not UNSET:
        delegated = intersection(delegated, claims.scope.split())
    ceilings = [Ceiling(BY_AGENT, of_agent), Ceiling(BY_DELEGATION, delegated)]
    if terms.ask_me:
        ceilings.append(Ceiling(BY_APPROVAL, frozenset(terms.ask_me)))
    return Caller(
        user_id=person.user_id,
        login_id=person.login_id,
        user_name=person.user_name,
        nick_name=person.nick_name,
        device=device_of_agent(agent.user_id),
        roles=person.roles,
        held=BoundedCodes(person.held.codes, ceilings),
        issued_at=claims.iat,
        key_id=int(claims.client_id),
        # A key that is limited to nothing stays so.
        limited_to_nothing=terms.key_scopes is not None and not terms.key_scopes,
        authentication=OF_PERSONAL_KEY,
        agent=ActingAgent(
            agent.user_id,
            agent.user_name,
            int(claims.delegation),
            frozenset(terms.services),
        ),
    )
