"""Answers to changes: where a new record is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.web.messages.context import RequestContext
from service.web.messages.description import Operation


def tell_location(
    context: RequestContext, operation: Operation, arguments: Mapping[str, Any], made: Any
) -> None:
    """Say where ``made`` is, the answer of ``operation`` to a request with ``arguments`` (RFC 9110 §15.3.2).

    The last field of the template in ``@created`` is its ``id``, the others are arguments.
    """
    if template := operation.metadata.location:
        above, _, _ = template.rpartition("{")
        context.respond_header("Location", f"{above.format(**arguments)}{made.id}")
