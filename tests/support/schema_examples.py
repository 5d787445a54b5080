"""Examples made from JSON schemas, always the same one for the same schema."""

from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

_REF: Final = "#/components/schemas/"
_PLAIN: Final[dict[str, Any]] = {
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "null": None,
}


def example_of(schema: Schema, components: Mapping[str, Schema], above: tuple[str, ...] = ()) -> Any:
    """Return a value that ``schema`` allows; examples within the schema come first.

    ``above`` names the enclosing components: lists of a type within itself stay empty.
    """
    if (ref := schema.get("$ref")) is not None:
        name = ref.removeprefix(_REF)
        return example_of(components[name], components, (*above, name))
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    if "anyOf" in schema:
        return example_of(_simplest(schema["anyOf"], above), components, above)
    if schema.get("type") in ("object", "array"):
        return _composed(schema, components, above)
    return _scalar(schema)


def _composed(schema: Schema, components: Mapping[str, Schema], above: tuple[str, ...]) -> Any:
    if schema["type"] == "object":
        properties = schema.get("properties", {})
        return {name: example_of(below, components, above) for name, below in properties.items()}
    items = schema.get("items", {})
    return [] if _is_above(items, above) else [example_of(items, components, above)]


def _simplest(choices: list[Schema], above: tuple[str, ...]) -> Schema:
    return next((choice for choice in choices if not _is_above(choice, above)), choices[-1])


def _is_above(schema: Schema, above: tuple[str, ...]) -> bool:
    return str(schema.get("$ref", "")).removeprefix(_REF) in above


def _scalar(schema: Schema) -> Any:
    kind = schema.get("type")
    if kind != "string":
        return schema.get("minimum", _PLAIN.get(str(kind)))
    if schema.get("format") == "date-time":
        return "2026-11-21T02:33:53.123Z"
    return "text".ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]
