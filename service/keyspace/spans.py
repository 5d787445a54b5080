"""Spans of commands to the session store: named by the command or the script, never by a key.

https://opentelemetry.io/docs/specs/semconv/database/redis/
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from typing import Any, Final

from service.kernel.span import Span
from service.kernel.tracing import traced

_SYSTEM: Final = {"db.system.name": "redis"}


def begin_command(span: Span, name: str) -> Span:
    """Begin the span of the command ``name``, below ``span``."""
    return span.child(name, {**_SYSTEM, "db.operation.name": name}, kind="client")


def end_with(span: Span, future: asyncio.Future[Any]) -> None:
    """End the span of a command whose answer is ``future``, which is done."""
    if future.cancelled():
        span.end(asyncio.CancelledError.__name__)
    else:
        error = future.exception()
        span.end(None if error is None else type(error).__name__)


def traced_command(name: str) -> AbstractContextManager[Span | None]:
    """Return a block that is the span of the command ``name``, such as ``SET`` or ``SCRIPT LOAD``."""
    return traced(name, {**_SYSTEM, "db.operation.name": name}, kind="client")


def traced_script(name: str) -> AbstractContextManager[Span | None]:
    """Return a block that is the span of one of our scripts."""
    attributes = {**_SYSTEM, "db.operation.name": "EVALSHA", "db.stored_procedure.name": name}
    return traced(f"EVALSHA {name}", attributes, kind="client")
