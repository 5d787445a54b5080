"""Refusals in OpenAPI: which ones an operation can answer, and their form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from service.errors import (
    AccountBanned,
    BadRequest,
    CsrfFailed,
    HeadTooLarge,
    IdempotencyKeyReused,
    InsufficientAuthentication,
    InternalError,
    PermissionDenied,
    ProxyRefused,
    RateLimited,
    RefreshRequired,
    Refusal,
    RequestTimeout,
    RequestUnderWay,
    RevisionUnknown,
    TokenExpired,
    TokenInvalid,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
    ValidationFailed,
)
from service.web.messages.description import Operation
from service.web.messages.schema import is_protocol
from service.web.openapi.problem_schemas import one_of
from service.web.requests.problems import MEDIA_TYPE, document, refusals

ALWAYS: Final = (BadRequest, HeadTooLarge, InternalError)
"""Refusals of any operation: a malformed or too long path or header, and a fault of the service."""
IN_GROUP: Final = (PermissionDenied, ValidationFailed, Unavailable)
"""Further refusals of any operation of a group: by the enforcer, of unknown parameters, and if a store or
the requested policy revision is unavailable."""
WITH_LOGIN: Final = (
    Unauthenticated,
    TokenInvalid,
    TokenExpired,
    RefreshRequired,
    AccountBanned,
    InsufficientAuthentication,
    RevisionUnknown,
    RateLimited,
)
"""Further refusals of operations that need a login; the last one after too many wrong API keys."""
WITH_KEY: Final = (RequestUnderWay, IdempotencyKeyReused)
"""Further refusals of operations that take an ``Idempotency-Key``."""
WITH_BODY: Final = (RequestTimeout, TooLarge, UnsupportedMediaType)
"""Further refusals of operations that read a body."""

_EXTRA: Final[dict[str, dict[str, Any]]] = {
    "validation_failed": {"errors": [{"field": "userName", "message": "The field is required"}]},
    "permission_denied": {
        "layer": "endpoint",
        "required": ["system:role:list"],
        "needed": "any",
        "decisionId": "r12-9be1a6f0-5f0c39d1a2b4",
    },
    "insufficient_user_authentication": {
        "layer": "assurance",
        "required": ["@two-factors-within-15m"],
        "acrValues": ["mfa", "phr"],
        "maxAge": 900,
        "methods": ["totp", "recovery_code"],
        "decisionId": "r12-9be1a6f0-5f0c39d1a2b4",
    },
    "refresh_rejected": {"reason": "superseded"},
}


def refusals_of(operation: Operation, *, with_cookies: bool = False) -> list[type[Refusal]]:
    """Return all refusals that ``operation`` can answer, ordered by status and code."""
    possible: set[type[Refusal]] = {*ALWAYS, *operation.metadata.refusals}
    if operation.in_group:
        possible.update(IN_GROUP)
        if not operation.public:
            possible.update(WITH_LOGIN)
        if with_cookies and (operation.method != "GET" or operation.metadata.subrequest):
            possible.add(CsrfFailed)
        if operation.metadata.subrequest:
            possible.add(ProxyRefused)
    if operation.signature.body is not None or operation.metadata.file or operation.metadata.form:
        possible.update(WITH_BODY)
    if operation.metadata.idempotent:
        possible.update(WITH_KEY)
    if is_protocol(operation.signature.body):
        possible -= {UnsupportedMediaType, ValidationFailed}
    if operation.metadata.form:
        possible -= {UnsupportedMediaType}
    return sorted(possible, key=lambda refusal: (refusal.status, refusal.code))


def problem_responses(operation: Operation, *, with_cookies: bool = False) -> dict[str, Any]:
    """Return the problem documents among the responses of ``operation``, by status."""
    by_status: dict[int, list[type[Refusal]]] = {}
    for refusal in refusals_of(operation, with_cookies=with_cookies):
        by_status.setdefault(refusal.status, []).append(refusal)
    return {str(status): _response(group) for status, group in by_status.items()}


def refusals_in(operations: Iterable[Operation], *, with_cookies: bool = False) -> list[type[Refusal]]:
    """Return all refusals that any of ``operations`` can answer, one of each code, by status and code."""
    codes = {
        refusal.code
        for operation in operations
        for refusal in refusals_of(operation, with_cookies=with_cookies)
    }
    return [refusal for refusal in refusals() if refusal.code in codes]


def problem_examples(refused: Iterable[type[Refusal]]) -> dict[str, Any]:
    """Return one example of the problem documents of each of ``refused``, by code."""
    return {refusal.code: {"value": _example(refusal)} for refusal in refused}


def _response(group: list[type[Refusal]]) -> dict[str, Any]:
    named = {refusal.code: {"$ref": f"#/components/examples/{refusal.code}"} for refusal in group}
    return {
        "description": "; ".join(f"`{refusal.code}`: {refusal.title}" for refusal in group),
        "content": {MEDIA_TYPE: {"schema": one_of(group), "examples": named}},
    }


def _example(refusal: type[Refusal]) -> Any:
    # Not by the constructors, which differ and need more, such as seconds to wait.
    made = refusal.__new__(refusal)
    Refusal.__init__(made, **_EXTRA.get(refusal.code, {}))
    return msgspec.json.decode(document(made, "8d5f0c39d1a2b4e7"))
