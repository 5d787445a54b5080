"""OpenAPI parameters of request headers that affect an operation."""

from __future__ import annotations

from typing import Any, Final

from service.errors import PreconditionFailed
from service.web.requests.description import Operation
from service.web.requests.guard import MIN_REVISION
from service.web.requests.operation import IN_FORCE
from service.web.requests.routes import GROUP

_TAG: Final = r'(?:W/)?"[^"]*"'
_AT_LEAST: Final = {
    "name": MIN_REVISION,
    "in": "header",
    "description": "The oldest policy revision that may decide the request, such as the `policyRevision` "
    "of a change. 409 `revision_unknown` if no node has published it, 503 if it is not in force here "
    "within 2 s.",
    "schema": {"type": "integer", "minimum": 0},
}
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "description": "The `ETag` of the record as it was read. 412 if the record has changed since. Without "
    "the header, the last writer wins.",
    "schema": {"type": "string", "pattern": rf"^(?:\*|{_TAG}(?: *, *{_TAG})*)$", "examples": ['"3"']},
}

_ACKNOWLEDGED: Final = {
    "description": "How many workers of all nodes decide by the `policyRevision` of this answer or a newer "
    "one, and how many there are. The answer waits for them up to 1 s. The others refuse or wait rather than "
    "decide by an older revision.",
    "schema": {"type": "string", "pattern": "^[0-9]+/[0-9]+$", "examples": ["4/4"]},
}


def response_headers(operation: Operation) -> dict[str, Any]:
    """Return the headers of a success of ``operation`` that are its own, by name."""
    return {IN_FORCE: _ACKNOWLEDGED} if operation.mark.publishes else {}


def header_parameters(operation: Operation) -> list[dict[str, Any]]:
    """Return the header parameters of ``operation``, besides those of credentials and body."""
    found = []
    if PreconditionFailed in operation.mark.refusals:
        found.append(_IF_MATCH)
    if operation.template.startswith(GROUP) and not operation.public:
        found.append(_AT_LEAST)
    return found
