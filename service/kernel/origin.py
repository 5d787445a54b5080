"""The request that is being served, for the logs."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

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

    @property
    def address(self) -> str:
        """The address of the client; "" if unknown."""

    @property
    def user_agent(self) -> str:
        """The User-Agent, safe for logs; "" if the request has none."""


ORIGIN: ContextVar[Origin | None] = ContextVar("origin", default=None)
"""The request that is being served; tasks that it starts inherit it."""
