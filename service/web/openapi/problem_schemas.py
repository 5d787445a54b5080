"""The schema of each problem document, by code: the common members, and those of the code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, get_args

from service.authz.engine.rules import ACCOUNT, ASSURANCE, ENDPOINT, GRANT, RESOURCE, SERVICE
from service.errors import ConflictRule, Refusal
from service.kernel.fields import camel

SCHEMAS: Final = "#/components/schemas/"

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_ID: Final = {"type": "integer", "format": "int64", "minimum": 1}
_COUNT: Final = {"type": "integer", "minimum": 0}
_LAYER: Final = {
    "title": "DecisionLayer",
    "type": "string",
    "enum": [RESOURCE, ENDPOINT, GRANT, SERVICE, ACCOUNT, ASSURANCE],
}
_NEEDED: Final = {"title": "Needed", "type": "string", "enum": ["all", "any"]}
_DENIAL: Final = {"layer": _LAYER, "required": _TEXTS, "needed": _NEEDED, "decisionId": _TEXT}


def _object(title: str, description: str, members: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "title": title,
        "description": description,
        "type": "object",
        "properties": members,
        "required": required,
    }


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_FIELD_ERROR: Final = _object(
    "FieldError",
    "A rule that is broken. `row` and `code` are those of a row of a table, whose missing permissions are "
    "told as in `permission_denied`; `requiredCount` counts them when some are left out.",
    {"field": _TEXT, "message": _TEXT, "row": _ID, "code": _TEXT, **_DENIAL, "requiredCount": _COUNT},
    ["field", "message"],
)
_BROKEN: Final = _object(
    "BrokenInvariant",
    "An invariant that the change would break.",
    {"name": _TEXT, "reason": _TEXT, "finding": _TEXT},
    ["name", "reason", "finding"],
)
_OBSTACLE: Final = _object(
    "RestoreObstacle",
    "What can't return, and why.",
    {"name": _TEXT, "reason": _TEXT},
    ["name", "reason"],
)
_PART: Final = {"title": "PartState", "type": "string", "enum": ["degraded", "down", "read_only", "up"]}

_MEMBERS: Final[dict[str, dict[str, Any]]] = {
    "account_banned": {"until": {"type": "string", "format": "date-time"}},
    "permission_denied": {**_DENIAL, "field": _TEXT},
    "insufficient_user_authentication": {
        "layer": _LAYER,
        "required": _TEXTS,
        "acrValues": _TEXTS,
        "maxAge": _COUNT,
        "methods": _TEXTS,
        "decisionId": _TEXT,
    },
    "second_factor_required": {
        "challenge": _TEXT,
        "methods": _TEXTS,
        "expiresIn": _COUNT,
        "publicKey": {"type": "object"},
    },
    "proxy_refused": {"layer": _LAYER, "decisionId": _TEXT},
    "refresh_rejected": {
        "reason": {
            "title": "RefreshRejection",
            "type": "string",
            "enum": ["unknown", "superseded", "reused", "ended"],
        }
    },
    "conflict": {
        "rule": {"title": "ConflictRule", "type": "string", "enum": [*get_args(ConflictRule)]},
        **_DENIAL,  # of an act on the own account
        "field": _TEXT,
        "roleId": _ID,
        "menuId": _ID,
        "resourceId": _ID,
        "resourceIds": {"type": "array", "items": _ID},
        "serviceId": _ID,
        "openingId": _ID,
        "users": _TEXTS,
        "userCount": _COUNT,
        "children": _TEXTS,
        "childCount": _COUNT,
        "roles": _TEXTS,
        "roleCount": _COUNT,
        "resources": _TEXTS,
        "resourceCount": _COUNT,
        "faults": _TEXTS,
        "lockedOut": _TEXTS,
        "brokenInvariants": _list(_BROKEN),
        "cannotReturn": _list(_OBSTACLE),
        "differing": _TEXTS,
    },
    "validation_failed": {"errors": _list(_FIELD_ERROR), "errorCount": _COUNT},
    "unavailable": {
        "parts": {"type": "object", "additionalProperties": _PART},
        "details": {"type": "object"},
    },
}
"""The members of a code besides the common ones."""

_ALWAYS: Final = {
    "permission_denied": list(_DENIAL),
    "insufficient_user_authentication": ["layer", "required", "acrValues", "methods", "decisionId"],
    "refresh_rejected": ["reason"],
    "validation_failed": ["errors"],
}
"""Which of ``_MEMBERS`` are there in each document; the others depend on the reason."""


def name_of(refusal: type[Refusal]) -> str:
    """Return the component with the schema of the documents of ``refusal``, ``ConflictProblem``."""
    return camel(f"_{refusal.code}") + "Problem"


def problem_schemas(refused: Iterable[type[Refusal]]) -> dict[str, Any]:
    """Return the schema of the problem documents of each of ``refused``, by its component."""
    return {name_of(refusal): _schema(refusal) for refusal in refused}


def _schema(refusal: type[Refusal]) -> dict[str, Any]:
    common = {
        "type": {"type": "string", "format": "uri-reference"},
        "title": _TEXT,
        "status": {"type": "integer", "const": refusal.status},
        "detail": _TEXT,
        "code": {"type": "string", "const": refusal.code},
        "requestId": _TEXT,
    }
    members = common | _MEMBERS.get(refusal.code, {})
    required = [*common, *_ALWAYS.get(refusal.code, ())]
    members |= {"traceId": {"type": "string", "pattern": "^[0-9a-f]{32}$"}}  # only if the service is traced
    return _object(name_of(refusal), f"{refusal.title} (RFC 9457).", members, required)


def one_of(refused: list[type[Refusal]]) -> dict[str, Any]:
    """Return the schema of an answer with any one of ``refused``, told apart by ``code``."""
    named = {refusal.code: f"{SCHEMAS}{name_of(refusal)}" for refusal in refused}
    schemas = [{"$ref": reference} for reference in named.values()]
    if len(schemas) == 1:
        return schemas[0]
    return {"oneOf": schemas, "discriminator": {"propertyName": "code", "mapping": named}}
