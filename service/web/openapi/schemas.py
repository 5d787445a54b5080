"""JSON schemas of the types of operations, and parameters made from them."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import cleandoc
from typing import Any, Final

import msgspec
from msgspec import NODEFAULT, UNSET

from service.kernel.fields import camel
from service.kernel.value_rules import MAX_ID
from service.web.messages.description import Operation
from service.web.messages.dry_run import Preview
from service.web.messages.schema import schema_of

JSON: Final = "application/json"

_ID: Final = {"type": "integer", "format": "int64", "minimum": 1, "maximum": MAX_ID}
_FIRST: Final = 1
NOBODYS: Final = 999_999_999_999
"""The id that is shown where something is changed: no service has made that many records."""
_HARMLESS: Final = "The example names nothing that exists: put in the id of what you mean."

Schema = Mapping[str, Any]
"""A JSON schema."""


class Schemas:
    """The schemas of all types together, so that each named type is one component."""

    def __init__(self, operations: list[Operation]) -> None:
        kinds: list[Any] = []
        for operation in operations:
            signature = operation.signature
            kinds += [] if operation.metadata.media or operation.metadata.form else [signature.answer]
            kinds += [Preview] if operation.metadata.dry_run else []
            kinds += [operation.metadata.sent] if operation.metadata.sent else []
            kinds += [form.takes, form.answers, form.refuses] if (form := operation.metadata.form) else []
            kinds += signature.path.values()
            kinds += [signature.body] if signature.body else []
            kinds += [field.type for field in _fields(operation)]
        schemas, self.components = msgspec.json.schema_components(
            kinds, schema_hook=schema_of, ref_template="#/components/schemas/{name}"
        )
        for component in self.components.values():
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
        """Return the path and query parameters of ``operation``."""
        return [
            *(self._in_path(operation, name, kind) for name, kind in operation.signature.path.items()),
            *(self._in_query(operation, field) for field in _fields(operation)),
        ]

    def _in_path(self, operation: Operation, name: str, kind: Any) -> dict[str, Any]:
        """Return a parameter with an example, with which a request that changes something harms nobody."""
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


def _but_null(schema: Schema) -> Schema:
    """Return ``schema`` without null: an absent parameter is None, and null can't be sent."""
    others = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    return others[0] if len(others) == 1 else schema


def _fields(operation: Operation) -> tuple[msgspec.structs.FieldInfo, ...]:
    query = operation.signature.query
    return () if query is None else msgspec.structs.fields(query)
