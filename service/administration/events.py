"""Events of administration, and the triggers by which the database itself tells features of such changes."""

from dataclasses import dataclass
from typing import Final

from service.kernel.events import Event
from service.records.database.transactions import Connection

BEFORE_ACCOUNT_EDIT: Final[Event[[Connection, int, str | None]]] = Event(
    "before-account-edit",
    when="Before a name, the address, the number or the status of an account is changed, its password is set "
    "or reset by somebody else, it is invited, handed over or deleted",
    within="The transaction of the change, which holds the lock of rights",
    locks="Nothing: a listener only reads",
    raises="`Conflict`: nothing is saved",
)
"""Is told the id of the user, and for which directory the change is made: None for no directory."""

BEFORE_ROLES_TAKEN: Final[Event[[Connection, int, list[int]]]] = Event(
    "before-roles-taken",
    when="Before somebody takes roles from a user, changes when an assignment by a directory begins or ends, "
    "or decides so in a review",
    within="The transaction of the change, which holds the lock of rights",
    locks="Nothing: a listener only reads",
    raises="`Conflict`: nothing is saved",
)
"""Is told the id of the user, and those of the roles. Directories take their own roles without it."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger of a capability beside the core, on a table of the core: it sees every writer.

    The migration that makes it has what it does; ``effect`` is that in words, ``when`` what it follows.
    """

    name: str
    table: str
    when: str
    effect: str
    raises: str = "Nothing"
    locks: str = "Rows of requests"


_REQUESTS_END: Final = "Requests end that the user has made"

TRIGGERS: Final = (
    Trigger("end_requests_of_author", "user", "After a user is disabled", _REQUESTS_END),
    Trigger("end_requests_of_deleted", "user", "After a user is deleted", _REQUESTS_END),
    Trigger("end_requests_of_author", "user_ban", "After a user is banned", _REQUESTS_END),
    Trigger(
        "note_edit",
        "user_role",
        "Before times or reason of an assignment change",
        "The time of the edit is stored, by which reviews know that an item was edited",
        locks="Nothing",
    ),
)
"""All triggers of capabilities on tables of the core, by table."""
