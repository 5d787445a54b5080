"""Events of administration, and the database triggers that notify features of changes."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from service.authz.engine.policy import Policy
from service.kernel.events import Event
from service.kernel.origin import FieldChange
from service.records.database.transactions import Connection

Watch: TypeAlias = Callable[[Connection], AbstractAsyncContextManager[None]]
"""Surrounds the edits of a change: it can read before them, and compare afterwards."""


@dataclass(frozen=True, slots=True)
class RightsChange:
    """A change of rights that begins at ``at``, decided by ``policy``.

    ``acting_ids`` are the caller and the creator of its API key; empty for the operator. An act on
    an account counts for ``takeover_days`` days. A listener adds to ``watches``.
    """

    acting_ids: frozenset[int]
    policy: Policy
    at: datetime
    takeover_days: int
    watches: list[Watch]


@asynccontextmanager
async def watching(connection: Connection, watches: Iterable[Watch]) -> AsyncIterator[None]:
    """Let the block make the edits of a change within all ``watches``."""
    async with AsyncExitStack() as entered:
        for watch in watches:
            await entered.enter_async_context(watch(connection))
        yield


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A change of how a role can be asked for, by the user named ``by``, at ``at``; None without lines.

    ``lines`` is true if policy lines of its rule change, ``approvers`` if its approvers change or vanish.
    ``cause`` is a sentence for users with a request for the role. Listeners add their own changes to ``log``.
    """

    role_id: int
    lines: bool
    approvers: bool
    cause: str
    at: datetime | None
    by: str
    log: list[FieldChange]


@dataclass(frozen=True, slots=True)
class Leaving:
    """A directory disables a user at ``at``; ``by`` names the account of the directory's client.

    ``cause`` is a sentence for the user. Listeners add their own changes to ``log``.
    """

    user_id: int
    cause: str
    at: datetime
    by: str
    log: list[FieldChange]


BEFORE_ACCOUNT_EDIT: Final[Event[[Connection, int, str | None]]] = Event(
    "before-account-edit",
    when="Before another person changes the name, address, phone number or status of an account, sets or "
    "resets its password, invites it, hands it over or deletes it",
    within="The transaction of the change, which holds the rights lock",
    locks="Nothing: a listener only reads",
    raises="`Conflict`: nothing is saved",
)
"""Receives the id of the user, and the directory that makes the change; None for no directory."""

BEFORE_ROLES_TAKEN: Final[Event[[Connection, int, list[int]]]] = Event(
    "before-roles-taken",
    when="Before roles of a user are revoked, or the period of an assignment by a directory is changed, "
    "also by a review decision",
    within="The transaction of the change, which holds the rights lock",
    locks="Nothing: a listener only reads",
    raises="`Conflict`: nothing is saved",
)
"""Receives the ids of the user and the roles. Edits of a directory's own roles do not publish it."""

CHANGE_BEGINS: Final[Event[[Connection, RightsChange]]] = Event(
    "change-begins",
    when="Before a caller edits rights or the policy, after the caller's grantable permissions are computed",
    within="The transaction of the change, which holds the rights lock, and the policy lock if it publishes",
    locks="Nothing: a listener only reads. A watch can write rows of its feature after the edits",
    raises="Nothing",
)
"""Receives the change. Edits of the operator, and edits caused by a sign-in, do not publish it."""

ROLE_CHANGES: Final[Event[[Connection, RoleChange]]] = Event(
    "role-changes",
    when="Before a request rule is stored or deleted; before a role is deleted; before a role with a "
    "request rule is enabled or disabled",
    within="The transaction of the change, which holds the policy lock and the rights lock",
    locks="Rows of its feature",
    raises="`Conflict` if its `approvers` change: nothing is saved",
)
"""Receives the change. For a role without a rule, which has no lines, only the lock of rights is held."""

ACCOUNT_LEAVES: Final[Event[[Connection, Leaving]]] = Event(
    "account-leaves",
    when="Before a directory disables a user; the triggers below handle all other cases",
    within="The transaction of the change, which holds the rights lock",
    locks="Rows of its feature",
    raises="Nothing",
)
"""Receives the leaving user, so that listeners log the rights that end."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """A database trigger of a feature on a table of the core, which sees every writer.

    A migration creates it. ``when`` describes the change that fires it, ``effect`` its action.
    """

    name: str
    table: str
    when: str
    effect: str
    raises: str = "Nothing"
    locks: str = "Rows of requests"


_REQUESTS_END: Final = "Requests of the user are closed"

_DELEGATIONS_END: Final = "Delegations of the user end, and agents that the user owns are suspended"
_DELEGATIONS: Final = "Delegations of the user, and agents that the user owns"
_KEYS_END: Final = "API keys of a person are deleted"
_KEYS: Final = "API keys of the user"

TRIGGERS: Final = (
    Trigger("end_requests_of_author", "user", "After a user is disabled", _REQUESTS_END),
    Trigger("end_requests_of_deleted", "user", "After a user is deleted", _REQUESTS_END),
    Trigger("end_requests_of_author", "user_ban", "After a user is banned", _REQUESTS_END),
    Trigger("end_delegations", "user", "After a user is disabled", _DELEGATIONS_END, locks=_DELEGATIONS),
    Trigger(
        "end_delegations_by_password",
        "user",
        "After somebody else sets a password",
        "Delegations of the user end",
        locks=_DELEGATIONS,
    ),
    Trigger("end_delegations", "user_ban", "After a user is banned", _DELEGATIONS_END, locks=_DELEGATIONS),
    Trigger("end_personal_keys", "user", "After a user is disabled", _KEYS_END, locks=_KEYS),
    Trigger(
        "end_personal_keys_by_password", "user", "After somebody else sets a password", _KEYS_END, locks=_KEYS
    ),
    Trigger("end_personal_keys", "user_ban", "After a user is banned", _KEYS_END, locks=_KEYS),
    Trigger(
        "note_edit",
        "user_role",
        "Before the period or reason of an assignment changes",
        "The time of the edit is stored; reviews use it to detect edited items",
        locks="Nothing",
    ),
    *(
        Trigger(name, table, when, "An event is recorded while the feature `events` is on", locks="Nothing")
        for name, table, when in (
            ("note_event_disabled", "user", "After a user is disabled"),
            ("note_event_enabled", "user", "After a user is enabled"),
            ("note_event_deleted", "user", "After a user is deleted"),
            ("note_event_banned", "user_ban", "After a user is banned"),
            ("note_event_unbanned", "user_ban", "After the ban of a user is deleted"),
            ("note_event_given", "user_role", "After roles are assigned"),
            ("note_event_changed", "user_role", "After the period of assignments changes"),
            ("note_event_ended", "ended_assignment", "After assignments end"),
            ("note_event_gained", "role_code_life", "After roles gain permissions"),
            ("note_event_changed", "role_code_life", "After roles lose permissions, or regain them"),
            ("note_event_created", "api_key", "After an API key is created"),
            ("note_event_revoked", "api_key", "After an API key is deleted"),
            ("note_event_made", "delegation", "After a user lets an agent act"),
            ("note_event_ended", "delegation", "After a delegation to an agent is deleted"),
            ("note_event", "access_request", "After a role is requested"),
            ("note_event_at_once", "access_request", "After an emergency role is given"),
            ("note_event_decided", "access_request", "After a request for a role ends"),
            ("note_event", "review", "After a review is opened"),
            ("note_event", "review_item", "After an item of a review is decided"),
            ("note_event", "policy_revision", "After a policy revision is published"),
        )
    ),
)
"""All triggers of capabilities on tables of the core, by table."""
