"""Names of components: generators make the types of their clients from them."""

import re
from collections.abc import Mapping
from typing import Any, Final, get_args

from service.audit import seals
from service.authn import second_factors
from service.authz.engine import rules
from service.features.api_document.problems import SCHEMAS
from service.kernel import assurance, identity, metrics, notify, persons, value_rules
from service.kernel.feature import declared
from service.records import factors, menus, openings, user_list
from service.records.logs import events
from service.records.schema import rights
from service.web.content import streams
from service.web.observability import readiness

_PAGE: Final = re.compile(r"(?:Time)?Page_(\w+)_")

_TYPES: Final[Mapping[str, Any]] = {
    "AcrValue": assurance.Acr,
    "AssignmentEnding": rights.How,
    "AssignmentSource": rights.Source,
    "AssuranceWord": assurance.Word,
    "AuthenticationDemand": assurance.Demand,
    "ControlAct": persons.ControlAct,
    "Decision": events.Decision,
    "ExportFormat": streams.Format,
    "FactorKind": factors.FactorKind,
    "Gender": user_list.Gender,
    "LoginEvent": events.SessionEvent,
    "LoginOutcome": events.Outcome,
    "MenuType": menus.MenuType,
    "NoticeActor": notify.ActedBy,
    "NoticeKind": notify.NoticeKind,
    "OpenTo": openings.OpenTo,
    "OperationKind": events.OperationKind,
    "PartState": metrics.State,
    "PolicyLayer": rules.LayerName,
    "ReadinessState": readiness.ReadinessState,
    "RequestMethod": value_rules.Method,
    "RevisionAuthenticity": seals.Authenticity,
    "SecondFactorMethod": second_factors.Method,
    "UserKind": identity.Kind,
    "UserStatus": user_list.Status,
}
_ENUMERATIONS: Final = {frozenset(get_args(kind)): name for name, kind in _TYPES.items()} | {
    frozenset(words.split()): name for feature in declared() for name, words in feature.enumerations.items()
}
"""The names of enumerations that have no title, by their values."""
_NULL: Final = {"type": "null"}
# For a type of only null, openapi-generator fails, or imports a missing file.
_NOTHING: Final = {"type": ["object", "null"]}
_WARNINGS: Final = {"type": "array", "items": {"type": "string"}}
_STATED: Final = {"type": "array", "items": {"$ref": f"{SCHEMAS}StatedSentence"}}
_EXAMPLES: Final = ("example", "examples")


def with_names(document: dict[str, Any]) -> dict[str, Any]:
    """Return ``document`` with each enumeration and object that has a title as a component of that name.

    The page of a type is called after it: ``UserPage``. Raises ValueError if two schemas have one title.
    """
    by_title: dict[str, Any] = {}
    components = document["components"]
    schemas = {page_name(name): schema for name, schema in components["schemas"].items()}
    shown = {
        name: {**_members(schema, by_title), **({"title": name} if "title" in schema else {})}
        for name, schema in schemas.items()
    }
    paths = _named(document["paths"], by_title)
    if twice := shown.keys() & by_title.keys():
        raise ValueError(f"Two schemas have the title {', '.join(sorted(twice))}")
    return {**document, "paths": paths, "components": {**components, "schemas": shown | by_title}}


def _members(schema: dict[str, Any], by_title: dict[str, Any]) -> dict[str, Any]:
    """Return ``schema`` with the schemas within it named; it has a name itself."""
    return {key: value if key in _EXAMPLES else _named(value, by_title) for key, value in schema.items()}


def _named(part: Any, by_title: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_named(each, by_title) for each in part]
    if not isinstance(part, dict):
        return part
    if isinstance(reference := part.get("$ref"), str) and reference.startswith(SCHEMAS):
        return {**part, "$ref": SCHEMAS + page_name(reference.removeprefix(SCHEMAS))}
    values = part.get("enum")
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        part = {"type": "string", **part}
        if name := _ENUMERATIONS.get(frozenset(values)):
            part["title"] = name
    named = "enum" in part or "x-extensible-enum" in part or part.get("type") == "object"
    if isinstance(name := part.get("title"), str) and named:
        own = ("description", "default", "examples") if "enum" in part else ("examples",)
        about = {key: part[key] for key in own if key in part}
        schema = _members({key: value for key, value in part.items() if key not in about}, by_title)
        if by_title.setdefault(name, schema) != schema:
            raise ValueError(f"Two schemas have the title {name}")
        return {"$ref": SCHEMAS + name, **about}
    return _members(part, by_title)


def page_name(name: str) -> str:
    """Return the component of what msgspec calls ``name``: ``UserPage`` for ``Page_User_``."""
    return f"{page[1]}Page" if (page := _PAGE.fullmatch(name)) else name


def envelope_of(data: dict[str, Any], preview: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of the answer with ``data``, with a title if ``data`` has a name of its own.

    ``preview`` is the schema of what only a dry run says: one type for both, so that ``data`` has one too.
    A write may have warnings, which a dry run has in its preview.
    """
    kind = "Envelope" if preview is None else "WriteEnvelope"
    title = {"title": f"{name}{kind}"} if (name := _name_of(data)) else {}
    members = {"data": _NOTHING if data == _NULL else data}
    if preview is not None:
        members |= {"preview": preview, "warnings": _WARNINGS, "warningSentences": _STATED}
    return {**title, "type": "object", "properties": members, "required": ["data"]}


def _name_of(data: dict[str, Any]) -> str:
    if "$ref" in data:
        return page_name(data["$ref"].removeprefix(SCHEMAS))
    if data.get("type") == "array" and (item := _name_of(data["items"])):
        return f"{item}List"
    return "Empty" if data == _NULL else ""
