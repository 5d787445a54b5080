"""Where what happens comes from: the request that is being served."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol


class Origin(Protocol):
    """A request, as far as logs tell of it."""

    request_id: str

    @property
    def address(self) -> str:
        """The address of the client; "" when nobody knows."""

    @property
    def user_agent(self) -> str:
        """The User-Agent, fit for logs; "" when there is none."""


ORIGIN: ContextVar[Origin | None] = ContextVar("origin", default=None)
"""The request that is being served, for whatever is logged on its behalf; tasks that it starts inherit it."""
