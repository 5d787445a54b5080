"""A span of a trace, as the parts of the service see it: they know no tracing library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

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
