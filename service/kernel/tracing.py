"""Spans around the work of a request. Without a traced request they cost a fraction of a microsecond."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from service.kernel.origin import ORIGIN, Kind, Span, Value

_SERVER_FAULTS: Final = 500
_NOTHING: Final = nullcontext[Span | None](None)


def current_span() -> Span | None:
    """Return the span of the present request; None if it is not traced, or outside of requests."""
    origin = ORIGIN.get()
    return None if origin is None else origin.span


def traced(
    name: str, attributes: Mapping[str, Value] | None = None, *, kind: Kind = "internal"
) -> AbstractContextManager[Span | None]:
    """Return a block that is a span of the request that is being served; without one, it does nothing.

    An exception that leaves the block ends the span with the name of its class as the error, unless it is a
    refusal that blames the request. The block may be left in another task than it was entered in, since it
    does not make its span the current one.
    """
    span = current_span()
    return _NOTHING if span is None else _Block(span.child(name, attributes, kind=kind))


@dataclass(slots=True, eq=False, repr=False)
class _Block:
    """The block of a span that has begun."""

    span: Span

    def __enter__(self) -> Span:
        return self.span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        blames_request = getattr(kind, "status", _SERVER_FAULTS) < _SERVER_FAULTS  # see service.errors
        self.span.end(None if kind is None or blames_request else kind.__name__)
