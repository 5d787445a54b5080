"""The request that is being served, for the logs."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final, Protocol

from msgspec import Struct

from service.kernel.assurance import Satisfied
from service.kernel.change_record import ChangeRecord
from service.kernel.delegated import Delegated
from service.kernel.span import Span


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
