"""JSON schemas of the types of operations, and the parameters and headers made from them."""

from collections.abc import Mapping
from inspect import cleandoc
from typing import Any, Final

import msgspec
from msgspec import NODEFAULT, UNSET

from service.errors import BadRequest, PreconditionFailed, RequestUnderWay
from service.kernel.fields import camel
from service.kernel.value_rules import MAX_ID
from service.web.content.streams import ANY_TYPE
from service.web.messages.dry_run import Preview, StatedSentence
from service.web.messages.operation_metadata import Operation
from service.web.messages.original import IDENTITY
from service.web.messages.schema import schema_of
from service.web.requests.guard import MIN_REVISION
from service.web.requests.idempotency import KEY, MOST, REPLAYED
from service.web.requests.operation import IN_FORCE, NOT_MODIFIED, RIGHTS

JSON: Final = "application/json"

_ID: Final = {"type": "integer", "format": "int64", "minimum": 1, "maximum": MAX_ID}
_FIRST: Final = 1
NOBODYS: Final = 999_999_999_999
"""The id that is shown where something is changed: no service has made that many records."""
_HARMLESS: Final = "The example id does not exist: replace it by a real one."

Schema = Mapping[str, Any]
"""A JSON schema."""


class Schemas:
    """The schemas of all types together, so that each named type is one component."""

    def __init__(self, operations: list[Operation]) -> None:
        kinds: list[Any] = [StatedSentence]  # refusals have it
        for operation in operations:
            signature = operation.signature
            kinds += [] if operation.metadata.media or operation.metadata.form else [signature.answer]
            kinds += [Preview] if operation.metadata.dry_run else []
            kinds += [operation.metadata.sent] if operation.metadata.sent else []
            kinds += [form.takes, form.answers, form.refuses] if (form := operation.metadata.form) else []
            kinds += [operation.dialect.error] if operation.dialect else []
            kinds += signature.path.values()
            kinds += [signature.body] if signature.body else []
            kinds += [field.type for field in _fields(operation)]
        schemas, self.components = msgspec.json.schema_components(
            kinds, schema_hook=schema_of, ref_template="#/components/schemas/{name}"
        )
        for component in self.components.values():
            _open_tuples(component)
            if "description" in component:  # Markdown, and not reStructuredText as a docstring
                component["description"] = cleandoc(component["description"]).replace("``", "`")
            for member in component.get("properties", {}).values():
                # Generators take a member with a default for one that is always there.
                member.pop("default", None)
        # A list, since not every annotation can be hashed.
        self._found = list(zip(kinds, schemas, strict=True))

    def of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of ``kind``, a type of one of the operations."""
        return next(schema for known, schema in self._found if known == kind)

    def parameters(self, operation: Operation) -> list[dict[str, Any]]:
        return [
            *(self._in_path(operation, name, kind) for name, kind in operation.signature.path.items()),
            *(self._in_query(operation, field) for field in _fields(operation)),
        ]

    def _in_path(self, operation: Operation, name: str, kind: Any) -> dict[str, Any]:
        """Return a path parameter, with an example that makes a changing request harmless."""
        schema = dict(_ID if kind is int else self.of(kind))
        shown = schema.pop("examples", ())
        parameter = {"name": camel(name), "in": "path", "required": True, "schema": schema}
        if name in operation.metadata.parameters:
            return parameter | {"example": operation.metadata.parameters[name]}
        if schema["type"] != "integer":
            return parameter | ({"example": shown[0]} if shown else {})
        if operation.method == "GET":
            return parameter | {"example": _FIRST}
        return parameter | {"description": _HARMLESS, "example": NOBODYS}

    def _in_query(self, operation: Operation, field: msgspec.structs.FieldInfo) -> dict[str, Any]:
        schema = dict(_but_null(self.of(field.type)))
        parameter: dict[str, Any] = {
            "name": field.encode_name,
            "in": "query",
            "required": field.required,
            "schema": schema,
        }
        if field.name in operation.metadata.parameters:
            parameter["example"] = operation.metadata.parameters[field.name]
        elif field.required:
            parameter["example"] = (schema.pop("examples", None) or schema["enum"])[0]
        if schema.get("type") == "array":
            parameter |= {"style": "form", "explode": False}
        if field.default not in (NODEFAULT, UNSET, None):
            schema["default"] = msgspec.to_builtins(field.default)
        if description := schema.pop("description", None):
            parameter["description"] = description
        return parameter


def _open_tuples(part: Any) -> None:
    """Add ``items`` to each tuple: clients require it, and accept no false. Its length may forbid any."""
    if isinstance(part, dict) and "prefixItems" in part:
        part["items"] = {}
    for within in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _open_tuples(within)


def _but_null(schema: Schema) -> Schema:
    """Return ``schema`` without null: an absent parameter is None, and null can't be sent."""
    others = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    return others[0] if len(others) == 1 else schema


def _fields(operation: Operation) -> tuple[msgspec.structs.FieldInfo, ...]:
    query = operation.signature.query
    return () if query is None else msgspec.structs.fields(query)


_TAG: Final = r'(?:W/)?"[^"]*"'
_AT_LEAST: Final = {
    "name": MIN_REVISION,
    "in": "header",
    "description": "The oldest policy revision that may decide the request, such as the `policyRevision` "
    "of a change. 409 `revision_unknown` if no node has published it, 503 if it is not in force here "
    "within 2 s.",
    "schema": {"type": "integer", "minimum": 0, "maximum": MAX_ID},
}
_IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "description": "The `ETag` of the record as it was read. 412 if the record has changed since. Without "
    "the header, the last writer wins.",
    "schema": {"type": "string", "pattern": rf"^(?:\*|{_TAG}(?: *, *{_TAG})*)$", "examples": ['"3"']},
}
_IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The `ETag` of the client's copy. If it is current, the answer is 304 without content. "
    "Malformed tags are ignored.",
    "schema": {"type": "string", "examples": ['"3"']},
}

_KEY: Final = {
    "name": KEY,
    "in": "header",
    "description": "A name that the client chooses for this request, such as a UUID. Sent again within 24 "
    "hours, with the same key and body, the request gets the same answer and creates nothing. 409 "
    "`request_under_way` while the first is served, 422 `idempotency_key_reused` with another body. A dry "
    "run ignores it.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": MOST,
        "pattern": "^[ -~]*$",
        "examples": ["8e03978e-40d5-43dd-bc93-6894a57f9324"],
    },
}


def _text(description: str, example: str, **more: str) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string", "examples": [example], **more}}


HEADERS: Final[dict[str, dict[str, Any]]] = {
    "X-Request-Id": _text("The name of the request in the logs.", "8d5f0c39d1a2b4e7"),
    "X-Policy-Revision": {
        "description": "The policy revision that decided the request.",
        "schema": {"type": "integer", "minimum": 0, "examples": [12]},
    },
    IN_FORCE: _text(
        "The number of workers of all nodes with the `policyRevision` of this answer or a newer "
        "one, and the number of all workers. The answer waits for them up to 1 s. The others "
        "refuse or wait, and never decide by an older revision.",
        "4/4",
        pattern="^[0-9]+/[0-9]+$",
    ),
    RIGHTS: {
        "description": "The number of the transaction, if rights have changed: questions to a decision point "
        "beside a service can demand it.",
        "schema": {"type": "integer", "minimum": 1, "examples": [8412]},
    },
    "ETag": _text("The version of the record, for `If-Match` and `If-None-Match`.", '"3"'),
    "Location": _text("The path of the new record.", "/api/user/7", format="uri-reference"),
    "FileLocation": _text(
        "The URL of the file in the object store, valid for a short time.",
        "https://objects.example.com/files/8d5f0c39?X-Amz-Expires=60",
        format="uri",
    ),
    REPLAYED: _text(
        f"`true` if the `{KEY}` was used before: this is the answer that was kept, and nothing was done.",
        "true",
    ),
    "Content-Disposition": _text("The name of the file.", 'attachment; filename="report.pdf"'),
    "Content-Range": _text("The range of these bytes, and the size of the file.", "bytes 0-99/1234"),
    "Retry-After": {
        "description": "Seconds to wait before the request is repeated.",
        "schema": {"type": "integer", "minimum": 1, "examples": [1]},
    },
    "X-Portcullis-User": _text("The name of the user, percent-encoded; empty without a user.", "alice"),
    "X-Portcullis-User-Id": _text("The id of the user; empty without a user.", "7"),
    "X-Portcullis-Roles": _text(
        "The codes of the user's roles, percent-encoded, separated by commas.", "clerk"
    ),
    "X-Portcullis-Decision": _text(
        "The decision; empty for a preflight request.", "r12-9be1a6f0-5f0c39d1a2b4"
    ),
    "X-Portcullis-Assertion": _text("The same, signed for the service; empty if assertions are off.", ""),
    "WWW-Authenticate": _text("The challenge (RFC 6750 §3).", "Bearer"),
}
"""The headers of answers, by the names of their components: those of the headers, but for ``_COMPONENTS``."""

_COMPONENTS: Final = {307: {"Location": "FileLocation"}}

_OF_STATUS: Final = {
    201: ("Location",),
    206: ("Content-Range",),
    307: ("Location",),
    401: ("WWW-Authenticate",),
    416: ("Content-Range",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}
_SENT: Final = (200, 206)


def response_headers(operation: Operation, status: int) -> dict[str, Any]:
    """Return references to the headers of the answers of ``operation`` with ``status``, by name."""
    names = ["X-Request-Id", *_OF_STATUS.get(status, ())]
    if operation.in_group:
        names.append("X-Policy-Revision")
    if status == operation.status:
        names += [IN_FORCE] if operation.metadata.publishes else []
        names += [RIGHTS] if operation.metadata.logged is not None else []
        names += ["ETag"] if operation.metadata.tagged else []
        names += [REPLAYED] if operation.metadata.idempotent else []
        names += IDENTITY if operation.subrequest else ()
    if status == RequestUnderWay.status and operation.metadata.idempotent:
        names.append("Retry-After")
    if operation.metadata.media and status in _SENT:
        names.append("Content-Disposition")
    if (ANY_TYPE in operation.metadata.media and status < BadRequest.status) or status == NOT_MODIFIED:
        names.append("ETag")
    components = _COMPONENTS.get(status, {})
    return {name: {"$ref": f"#/components/headers/{components.get(name, name)}"} for name in names}


def header_parameters(operation: Operation) -> list[dict[str, Any]]:
    """Return the header parameters of ``operation``, except those of credentials and body."""
    parameters = []
    if PreconditionFailed in operation.metadata.refusals:
        parameters.append(_IF_MATCH)
    if operation.conditional:
        parameters.append(_IF_NONE_MATCH)
    if operation.metadata.idempotent:
        parameters.append(_KEY)
    if operation.in_group and not (operation.public or operation.subrequest):
        parameters.append(_AT_LEAST)
    return parameters
