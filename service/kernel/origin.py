"""The request that is being served, for the logs: its facts, its span, and what it asked of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final, Literal, NamedTuple, Protocol

from msgspec import Struct

from service.kernel.assurance import Satisfied
from service.kernel.change_record import ChangeRecord

Needed = Literal["all", "any"]
"""How many of some codes the caller needs."""


class EditRequest(NamedTuple):
    """The request for one edit, of a request that makes several; ``template`` is that of its route."""

    method: str
    path: str
    template: str


class GrantQuestion(NamedTuple):
    """May the caller grant these codes?"""

    codes: tuple[str, ...]
    needed: Needed


class ObjectQuestion(NamedTuple):
    """May the caller pass this object of this layer?"""

    layer: str
    object: str


class Delegated:
    """The questions of one change: asked of the policy ``revision``, about the token and ``stored_codes``.

    ``stored_codes`` are the codes of the caller in the database. ``objects`` are questions about single
    objects of other layers than ``grant``.
    """

    def __init__(self, revision: int, stored_codes: frozenset[str]) -> None:
        self.revision = revision
        self.stored_codes = stored_codes
        self.grants: dict[GrantQuestion, None] = {}  # in order; an import asks the same of many rows
        self.objects: dict[ObjectQuestion, None] = {}
        self.edits: list[EditRequest] = []


Value = str | int | float | bool
"""The value of an attribute. It must never be a secret, a name of a user, or what a request has sent."""

Kind = Literal["internal", "client"]
"""``client`` is a question to another process, whose answer is waited for."""


class Span(Protocol):
    """One piece of work of a traced request. Thread-safe; its methods never wait and never raise."""

    def child(
        self, name: str, attributes: Mapping[str, Value] | None = None, *, kind: Kind = "internal"
    ) -> Span:
        """Begin a span within this one."""

    def set(self, name: str, value: Value) -> None:
        """Set an attribute."""

    def end(self, error: str | None = None) -> None:
        """End it; ``error`` names what went wrong by one word, such as the class of an exception."""


class Origin(Protocol):
    """The facts of a request that logs need."""

    request_id: str
    trace_id: str
    """The id of its trace (32 hexadecimal digits); "" without tracing."""
    span: Span | None
    """The span of the whole request; None if it is not traced."""
    recorded: ChangeRecord | None
    """What the request changes; None if nothing has been recorded yet."""
    delegated: Delegated | None
    """What was asked about the rights of the caller, beyond the admission of the request."""
    satisfied: Satisfied | None
    """What the caller satisfied of the words about authentication when it was admitted; None for nobody."""

    def entry(self) -> Struct | None:
        """Return the entry of the operation log as things stand, without what was sent.

        None if the operation is not logged, and once the request has its entry.
        """

    @property
    def acting(self) -> str | None:
        """The name of the caller, as it is in the token; None before somebody is admitted."""

    @property
    def address(self) -> str:
        """The address of the client; "" if unknown."""

    @property
    def user_agent(self) -> str:
        """The User-Agent, safe for logs; "" if the request has none."""


ORIGIN: ContextVar[Origin | None] = ContextVar("origin", default=None)
"""The request that is being served; tasks that it starts inherit it."""

OPERATOR: Final = "@operator"
"""Who edits outside of requests: somebody at the machine."""


def acting() -> str | None:
    """Return who edits records now: the user name of the caller, ``OPERATOR`` outside of requests."""
    origin = ORIGIN.get()
    return OPERATOR if origin is None else origin.acting
