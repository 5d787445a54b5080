"""The authenticated caller of a request, and the account on which a caller acts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, Protocol

from service.kernel.account_acts import (
    ACT_FOR_NAMED,
    ACT_FOR_OTHER,
    USE_BARRED_KEY,
    USE_KEY,
    Proof,
    Whom,
)
from service.kernel.assurance import Acr, Authentication, Satisfied, words_at
from service.kernel.codes import BY_APPROVAL, BoundedCodes, HeldCodes, ceilings_of

Kind = Literal["person", "service"]
"""The owner of an account: a person, who logs in, or a program, which has API keys."""

OPERATOR_ID: Final = 0
"""The user id of the operator at the command line, who has no account."""


class Denied(Protocol):
    """A decision, by those of its parties that deny it."""

    @property
    def denied_by(self) -> tuple[str, ...]:
        """The names of account and ceilings that deny; empty for a caller without ceilings."""


class ActingAgent(NamedTuple):
    """The agent that acts for the person of a request, by the delegation with that id.

    ``services`` are the services for which the person delegated.
    """

    agent_id: int
    agent_name: str
    delegation_id: int
    services: frozenset[str]


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated user of a request: of a device session, or of an API key.

    ``login_id`` is the ``sub`` of the token: the user id in decimal. ``held`` are the codes in force for this
    request. ``issued_at`` is the token's ``iat`` in seconds since the epoch, with a fraction. ``service`` is
    the service that a service account is bound to, None for none. ``key_id`` is the API key of the request,
    sent itself or as a token issued for it. ``device`` is then ``key:`` and its number, which is the name of
    no device. ``limited_to_nothing`` is true for a key whose list of scopes is empty. ``authentication`` is
    that of a person; None for a service account. The scopes of a person's key are a ceiling of ``held``.
    ``agent`` acts for the person, with the API key ``key_id`` of the agent; the agent and the delegation are
    ceilings of ``held``. ``device`` is then that of ``device_of_agent``. ``key_use`` is the object of the
    layer ``account`` for the use of a person's API key, and None for other requests.
    """

    user_id: int
    login_id: str
    user_name: str
    nick_name: str
    device: str
    roles: tuple[str, ...]
    held: HeldCodes
    issued_at: float
    kind: Kind = "person"
    service: str | None = None
    key_id: int | None = None
    limited_to_nothing: bool = False
    authentication: Authentication | None = None
    agent: ActingAgent | None = None
    key_use: str | None = None

    @property
    def proof(self) -> Proof:
        """Return how the caller has authenticated, as the policy's layer ``account`` names it.

        An agent counts as an API key of the person for whom it acts: all that is closed to these is closed to
        agents.
        """
        if self.key_id is None:
            return "by-session"
        return "by-key" if self.kind == "service" else "by-personal-key"

    @property
    def rests_on(self) -> Acr:
        """Return the strength of the proof behind the session, from the token."""
        return self.authentication.acr if self.authentication else "pwd"

    @property
    def is_operator(self) -> bool:
        """Return True for the operator; ``user_name`` is then the name of an account of the system."""
        return self.user_id == OPERATOR_ID


def operator_named(name: str, codes: Iterable[str] = ("*",)) -> Caller:
    """Return the operator as a caller called ``name``, who holds ``codes``."""
    return Caller(OPERATOR_ID, str(OPERATOR_ID), name, name, "", (), HeldCodes(codes), 0.0)


def device_of_agent(agent_id: int) -> str:
    """Return the text that stands for the device in requests of an agent, and in their log entries."""
    return f"agent:{agent_id}"


def act_for(agent: ActingAgent, service: str) -> str:
    """Return the object of the layer ``account`` that lets ``agent`` act for a person at ``service``."""
    return ACT_FOR_NAMED if service in agent.services else ACT_FOR_OTHER


def needs_approval(caller: Caller, denial: Denied) -> bool:
    """Return True if nothing but the lack of an approval denies a call of an agent."""
    return caller.agent is not None and denial.denied_by == (BY_APPROVAL,)


def with_approval(caller: Caller) -> Caller:
    """Return the caller of an agent's call that its person has approved."""
    held = caller.held
    return replace(caller, held=held.approved()) if isinstance(held, BoundedCodes) else caller


def is_approved(caller: Caller) -> bool:
    """Return True if a call of ``caller`` waits for no approval, as after ``with_approval``."""
    return all(ceiling.by != BY_APPROVAL for ceiling in ceilings_of(caller.held))


def use_of_key(*, barred: bool) -> str:
    """Return the object of the layer ``account`` that lets a person use their own API key.

    ``barred``: a role of the person allows no such keys.
    """
    return USE_BARRED_KEY if barred else USE_KEY


def standing_of(caller: Caller | None, service: str) -> str | None:
    """Return the object of the layer ``account`` that lets ``caller`` ask at ``service``; None without one.

    An agent needs the delegation to name the service. A person's API key needs roles that bar none.
    """
    if caller is None or caller.key_id is None or caller.kind != "person":
        return None
    if caller.agent is not None:
        return act_for(caller.agent, service)
    return caller.key_use


def codes_asked(caller: Caller | None) -> HeldCodes | None:
    """Return the codes with which the policy is asked about ``caller``; None for an anonymous caller.

    None also for a key that is limited to nothing: objects open to every login need no code, so no list of
    codes could limit the key.
    """
    return None if caller is None or caller.limited_to_nothing else caller.held


def codes_shown(caller: Caller, stored: Iterable[str]) -> list[str]:
    """Return the codes shown to ``caller``, sorted; ``stored`` are the codes that the roles grant now.

    An API key sees the codes within its scopes.
    """
    return sorted(stored if caller.key_id is None else caller.held.codes)


def roles_told(caller: Caller) -> tuple[str, ...]:
    """Return the roles that answers to services name; none for a caller with ceilings.

    A service that decides by roles would allow a key of a person all that its owner may do.
    """
    return () if ceilings_of(caller.held) else caller.roles


def words_asked(caller: Caller | None, now: float) -> Satisfied | None:
    """Return the words for asking the layer ``assurance`` about ``caller``; None for an anonymous caller.

    ``now`` is in seconds since the epoch.
    """
    if caller is None:
        return None
    return words_at(caller.authentication, now, by_key=caller.kind == "service")


@dataclass(frozen=True, slots=True)
class Target:
    """A user on whom a caller may act; functions that change, ban or log out a user take one.

    Only ``service/administration/delegation.py``, after asking the policy, ``oneself`` and ``owner`` make
    one: so no function can act on another user without that check. ``whom`` is the relation of the account to
    the caller.
    """

    user_id: int
    whom: Whom

    @property
    def login_id(self) -> str:
        """The user's id as the session store and tokens name it."""
        return str(self.user_id)


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account that a caller may create, from some of the ``UserValues``; the writers of users take one.

    Only ``service/administration/delegation.py``, after asking the policy, and the operator's commands make
    one. ``made_by`` is the id of the caller, or of the creator of the caller's API key; None for the
    operator.
    """

    values: Mapping[str, Any]
    made_by: int | None = None


def owner(user_id: int) -> Target:
    """Return the owner of an account, proven by the token of a link that only the owner received."""
    return Target(user_id, "self")


def oneself(caller: Caller) -> Target:
    """Return the caller as the target of what users may do to their own account."""
    return Target(caller.user_id, "self")
