"""The OpenAPI document of this checkout, what the last release promised, and what the changelog names."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import msgspec

from service.app import check_routes
from service.authz.publishing.shipped import read_shipped
from service.features.api_document.api import INFO, tags_of
from service.features.api_document.document import openapi
from service.settings import Settings
from tests.contract.breaks import Break

RELEASED = Path(__file__).with_name("released.json")
_PROSE = {"description", "summary", "title", "example", "examples"}
_NAMED = {"properties", "schemas", "headers"}
"""Keywords below which a key is a name."""


def current() -> dict[str, Any]:
    """Return the document that the service of this checkout serves by default."""
    routes = check_routes(read_shipped())
    made = openapi([*routes.operations, *routes.outside], info=INFO, tags=tags_of(Settings(), ()))
    return cast(dict[str, Any], json.loads(msgspec.json.encode(made)))


def released() -> dict[str, Any]:
    """Return the document of the last release, without prose."""
    return cast(dict[str, Any], json.loads(RELEASED.read_text(encoding="utf-8")))


def contract(document: dict[str, Any]) -> dict[str, Any]:
    """Return what ``document`` promises: its version, operations and components, without prose."""
    components = document["components"]
    kept: dict[str, Any] = _without_prose(
        {"paths": document["paths"], "components": {"schemas": components["schemas"]}}
    )
    return {"info": {"version": document["info"]["version"]}, **kept}


def _without_prose(part: Any, *, names: bool = False) -> Any:
    if isinstance(part, list):
        return [_without_prose(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _without_prose(value, names=key in _NAMED and not names)
        for key, value in part.items()
        if names or key not in _PROSE
    }


def as_text(promised: dict[str, Any]) -> str:
    """Return what ``contract`` returned as JSON, with a line for each path and schema, for readable diffs."""
    info, paths, schemas = promised["info"], promised["paths"], promised["components"]["schemas"]
    return (
        f'{{"info": {json.dumps(info)},\n"paths": {_lines(paths)},\n'
        f'"components": {{"schemas": {_lines(schemas)}}}}}\n'
    )


def _lines(parts: dict[str, Any]) -> str:
    lines = (f"{json.dumps(name)}: {json.dumps(parts[name], sort_keys=True)}" for name in sorted(parts))
    return "{\n" + ",\n".join(lines) + "\n}"


_SECTION = re.compile(r"^## \[Unreleased\]$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)


def breaking_entries(changelog: str) -> list[set[str]]:
    """Return what each entry under [Unreleased] that says ``Breaking`` has between backticks."""
    section = _SECTION.search(changelog)
    entries = _ENTRY.findall(section[1]) if section else []
    return [
        {" ".join(code.split()) for code in re.findall(r"`([^`]+)`", entry)}
        for entry in entries
        if "breaking" in entry.lower()
    ]


def is_named(change: Break, operations: Iterable[str], entries: Iterable[set[str]]) -> bool:
    """Tell whether an entry names what has changed, and where: the component or one of ``operations``."""
    places = {change.place, *operations}
    return any(entry & places and (change.name in entry or change.name == change.place) for entry in entries)
