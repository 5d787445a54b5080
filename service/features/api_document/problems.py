"""Refusals in OpenAPI: which ones an operation can answer, and the schema of each problem document."""

from collections.abc import Iterable
from typing import Any, Final, get_args

import msgspec

from service import errors
from service.authz.engine.refused import MOST_ROLES
from service.authz.engine.rules import DENYING
from service.kernel.coded_sentences import parameters_of
from service.kernel.core_sentences import every_sentence, sentence
from service.kernel.fields import camel
from service.web.messages.dialect import Dialect
from service.web.messages.operation_metadata import Operation
from service.web.messages.schema import SENTENCE_PARAMS, is_protocol
from service.web.requests.problems import MEDIA_TYPE, document, refusals

SCHEMAS: Final = "#/components/schemas/"

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_ID: Final = {"type": "integer", "format": "int64", "minimum": 1}
_COUNT: Final = {"type": "integer", "minimum": 0}
_LAYER: Final = {
    "title": "DecisionLayer",
    "type": "string",
    "enum": [*DENYING],
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


def _code_schema() -> dict[str, Any]:
    """Return the schema of the codes of sentences, with the names of the parameters of each."""
    texts = every_sentence()
    codes = sorted({*texts, *(refusal.code for refusal in refusals())})
    named = {code: names for code in codes if code in texts and (names := parameters_of(texts[code]))}
    return {
        "title": "SentenceCode",
        "description": "The code of a sentence, by which clients translate it. The list may grow: show the "
        "English sentence for an unknown code. `x-parameters` names the parameters of each code.",
        "type": "string",
        "x-extensible-enum": codes,
        "x-parameters": named,
    }


_CODE: Final = _code_schema()
_PARAMS: Final = {
    "title": SENTENCE_PARAMS.title,
    "description": SENTENCE_PARAMS.description,
    "type": "object",
}
_FIELD_ERROR: Final = _object(
    "FieldError",
    "A broken rule, with the code and the parameters of its message. In a row of a table, `code` is that of "
    "the refusal, and `detailCode` that of the message. Missing permissions are as in `permission_denied`; "
    "`requiredCount` counts them if some are omitted.",
    {
        "field": _TEXT,
        "message": _TEXT,
        "row": _ID,
        "code": _CODE,
        "detailCode": _CODE,
        "params": _PARAMS,
        **_DENIAL,
        "requiredCount": _COUNT,
    },
    ["field", "message", "code", "params"],
)
_BROKEN: Final = _object(
    "BrokenInvariant",
    "An invariant that the change would break.",
    {
        "name": _TEXT,
        "reason": _TEXT,
        "reasonCode": _CODE,
        "reasonParams": _PARAMS,
        "finding": _TEXT,
        "findingCode": _CODE,
        "findingParams": _PARAMS,
    },
    ["name", "reason", "finding"],
)
_OBSTACLE: Final = _object(
    "RestoreObstacle",
    "The edits that are impossible, with the reason.",
    {"name": _TEXT, "reason": _TEXT, "reasonCode": _CODE, "reasonParams": _PARAMS},
    ["name", "reason", "reasonCode", "reasonParams"],
)
_STATED: Final = {"$ref": f"{SCHEMAS}StatedSentence"}
_PART: Final = {"title": "PartState", "type": "string", "enum": ["degraded", "down", "read_only", "up"]}

_MEMBERS: Final[dict[str, dict[str, Any]]] = {
    "account_banned": {"until": {"type": "string", "format": "date-time"}},
    "permission_denied": {**_DENIAL, "field": _TEXT, "requestable": {**_TEXTS, "maxItems": MOST_ROLES}},
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
        "rule": {"title": "ConflictRule", "type": "string", "enum": [*get_args(errors.ConflictRule)]},
        **_DENIAL,  # for an act on the caller's own account
        "field": _TEXT,
        "directory": _TEXT,
        "roleId": _ID,
        "menuId": _ID,
        "resourceId": _ID,
        "resourceIds": {"type": "array", "items": _ID},
        "serviceId": _ID,
        "openingId": _ID,
        "assignmentId": _ID,
        "accessRequestId": _ID,
        "users": _TEXTS,
        "userCount": _COUNT,
        "children": _TEXTS,
        "childCount": _COUNT,
        "roles": _TEXTS,
        "roleCount": _COUNT,
        "resources": _TEXTS,
        "resourceCount": _COUNT,
        "faults": _TEXTS,
        "faultSentences": _list(_STATED),
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
"""Members of a code in addition to the common ones."""

_ALWAYS: Final = {
    "permission_denied": list(_DENIAL),
    "insufficient_user_authentication": ["layer", "required", "acrValues", "methods", "decisionId"],
    "refresh_rejected": ["reason"],
    "validation_failed": ["errors"],
}
"""Members of ``_MEMBERS`` that every document has; the others depend on the reason."""


def name_of(refusal: type[errors.Refusal]) -> str:
    """Return the component with the schema of the documents of ``refusal``, ``ConflictProblem``."""
    return camel(f"_{refusal.code}") + "Problem"


def problem_schemas(refused: Iterable[type[errors.Refusal]]) -> dict[str, Any]:
    """Return the schema of the problem documents of each of ``refused``, by its component."""
    return {name_of(refusal): _schema(refusal) for refusal in refused}


def _schema(refusal: type[errors.Refusal]) -> dict[str, Any]:
    common = {
        "type": {"type": "string", "format": "uri-reference"},
        "title": _TEXT,
        "status": {"type": "integer", "const": refusal.status},
        "detail": _TEXT,
        "code": {"type": "string", "const": refusal.code},
        "requestId": _TEXT,
    }
    stated = {"detailCode": _CODE, "params": _PARAMS}  # unless the detail is the title
    members = common | stated | _MEMBERS.get(refusal.code, {})
    required = [*common, *_ALWAYS.get(refusal.code, ())]
    members |= {"traceId": {"type": "string", "pattern": "^[0-9a-f]{32}$"}}  # only if the service is traced
    return _object(name_of(refusal), f"{refusal.title} (RFC 9457).", members, required)


def one_of(refused: list[type[errors.Refusal]]) -> dict[str, Any]:
    """Return the schema of an answer with any of ``refused``, discriminated by ``code``."""
    named = {refusal.code: f"{SCHEMAS}{name_of(refusal)}" for refusal in refused}
    schemas = [{"$ref": reference} for reference in named.values()]
    if len(schemas) == 1:
        return schemas[0]
    return {"oneOf": schemas, "discriminator": {"propertyName": "code", "mapping": named}}


ALWAYS: Final = (errors.BadRequest, errors.HeadTooLarge, errors.InternalError)
"""Refusals of any operation: a malformed or too long path or header, and a fault of the service."""
IN_GROUP: Final = (errors.PermissionDenied, errors.ValidationFailed, errors.Unavailable)
"""Further refusals of any operation of a group: by the enforcer, of unknown parameters, and if a store or
the requested policy revision is unavailable."""
WITH_LOGIN: Final = (
    errors.Unauthenticated,
    errors.TokenInvalid,
    errors.TokenExpired,
    errors.RefreshRequired,
    errors.AccountBanned,
    errors.InsufficientAuthentication,
    errors.RevisionUnknown,
    errors.RateLimited,
)
"""Further refusals of operations that need a login; the last one after too many wrong API keys."""
WITH_KEY: Final = (errors.RequestUnderWay, errors.IdempotencyKeyReused)
"""Further refusals of operations that take an ``Idempotency-Key``."""
WITH_BODY: Final = (errors.RequestTimeout, errors.TooLarge, errors.UnsupportedMediaType)
"""Further refusals of operations that read a body."""

_EXTRA: Final[dict[str, dict[str, Any]]] = {
    "validation_failed": {"errors": [{"field": "userName", **sentence("required").as_member()}]},
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


def refusals_of(operation: Operation, *, with_cookies: bool = False) -> list[type[errors.Refusal]]:
    """Return all refusals that ``operation`` can answer, ordered by status and code."""
    possible: set[type[errors.Refusal]] = {*ALWAYS, *operation.metadata.refusals}
    if operation.in_group:
        possible.update(IN_GROUP)
        if not operation.public:
            possible.update(WITH_LOGIN)
        if with_cookies and (operation.method != "GET" or operation.subrequest):
            possible.add(errors.CsrfFailed)
        if operation.subrequest:
            possible.add(errors.ProxyRefused)
    if operation.signature.body is not None or operation.metadata.file or operation.metadata.form:
        possible.update(WITH_BODY)
    if operation.metadata.idempotent:
        possible.update(WITH_KEY)
    if operation.dialect:
        possible.update(operation.dialect.refusals)
    elif is_protocol(operation.signature.body):
        possible -= {errors.UnsupportedMediaType, errors.ValidationFailed}
    if operation.metadata.form:
        possible -= {errors.UnsupportedMediaType}
    return sorted(possible, key=lambda refusal: (refusal.status, refusal.code))


def problem_responses(operation: Operation, *, with_cookies: bool = False) -> dict[str, Any]:
    """Return the problem documents among the responses of ``operation``, by status.

    Those of a dialect have its form.
    """
    if operation.dialect:
        return _errors_of(operation.dialect, refusals_of(operation, with_cookies=with_cookies))
    by_status: dict[int, list[type[errors.Refusal]]] = {}
    for refusal in refusals_of(operation, with_cookies=with_cookies):
        by_status.setdefault(refusal.status, []).append(refusal)
    responses = {str(status): _response(group) for status, group in by_status.items()}
    if operation.metadata.in_browser:
        for response in responses.values():
            response["content"]["text/html"] = {"schema": {"type": "string"}}
    return responses


def _errors_of(dialect: Dialect, refused: Iterable[type[errors.Refusal]]) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for refusal in refused:
        by_status.setdefault(dialect.status_of(refusal), []).append(refusal.title)
    content = {dialect.media: {"schema": {"$ref": f"{SCHEMAS}{dialect.error.__name__}"}}}
    return {
        str(status): {"description": "; ".join(titles), "content": content}
        for status, titles in sorted(by_status.items())
    }


def refusals_in(operations: Iterable[Operation], *, with_cookies: bool = False) -> list[type[errors.Refusal]]:
    """Return all refusals of which ``operations`` answer problem documents, by status and code."""
    codes = {
        refusal.code
        for operation in operations
        if not operation.dialect
        for refusal in refusals_of(operation, with_cookies=with_cookies)
    }
    return [refusal for refusal in refusals() if refusal.code in codes]


def problem_examples(refused: Iterable[type[errors.Refusal]]) -> dict[str, Any]:
    """Return one example of the problem documents of each of ``refused``, by code."""
    return {refusal.code: {"value": _example(refusal)} for refusal in refused}


def _response(group: list[type[errors.Refusal]]) -> dict[str, Any]:
    named = {refusal.code: {"$ref": f"#/components/examples/{refusal.code}"} for refusal in group}
    return {
        "description": "; ".join(f"`{refusal.code}`: {refusal.title}" for refusal in group),
        "content": {MEDIA_TYPE: {"schema": one_of(group), "examples": named}},
    }


def _example(refusal: type[errors.Refusal]) -> Any:
    # Not by the constructors, which differ and need more, such as seconds to wait.
    made = refusal.__new__(refusal)
    errors.Refusal.__init__(made, **_EXTRA.get(refusal.code, {}))
    return msgspec.json.decode(document(made, "8d5f0c39d1a2b4e7"))
