"""Which changes of an OpenAPI document break its clients, and which the changelog names."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.contract import __main__ as command
from tests.contract.breaks import Break, breaks
from tests.contract.document import RELEASED, as_text, breaking_entries, contract, is_named, released
from tests.support.cases import with_each

Document = dict[str, Any]

TEXT = {"type": "string"}
SIZE = {"in": "query", "name": "size", "schema": {"type": "integer", "maximum": 200, "default": 20}}
STATES = {"type": "string", "enum": ["open", "closed"]}
REASONS = {"type": "string", "x-extensible-enum": ["short", "long"], "x-parameters": {"short": ["least"]}}
CONFLICT = {"type": "object", "properties": {"code": {"const": "conflict"}, "field": TEXT}}


BASE = {
    "paths": {
        "/thing": {
            "put": {
                "operationId": "setThing",
                "x-permissions": ["thing:set", "thing:all"],
                "security": [{"bearer": []}, {"cookie": [], "csrf": []}],
                "parameters": [SIZE],
                "requestBody": {
                    "required": False,
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Thing"}},
                        "text/csv": {"schema": TEXT},
                    },
                },
                "responses": {
                    "200": {
                        "headers": {"ETag": {}, "X-Request-Id": {}},
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Made"}}},
                    },
                    "304": {},
                    "409": {
                        "content": {
                            "application/problem+json": {"schema": {"$ref": "#/components/schemas/Conflict"}}
                        }
                    },
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Thing": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": TEXT,
                    "kind": TEXT,
                    "state": STATES,
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}},
                    "count": {"type": "integer", "minimum": 1},
                    "note": {"anyOf": [TEXT, {"type": "null"}]},
                    "labels": {"type": "object", "additionalProperties": TEXT},
                },
                "additionalProperties": False,
            },
            "Made": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": TEXT,
                    "kind": TEXT,
                    "state": STATES,
                    "time": {"type": "string", "format": "date-time"},
                    "note": {"anyOf": [TEXT, {"type": "null"}]},
                    "parts": {"type": "array", "items": TEXT},
                    "reason": REASONS,
                },
            },
            "Conflict": CONFLICT,
        }
    },
}
"""One operation, ``PUT /thing``, in which every rule has something to compare."""


def base() -> Document:
    """Return ``BASE``, to be changed: no part of it is in two places."""
    document: Document = json.loads(json.dumps(BASE))
    return document


def changed(path: str, value: Any) -> Document:
    """Return the document with ``value`` at ``path``, whose names are parted by ``>``; None removes it."""
    document = base()
    shortened = {
        "op": "paths>/thing>put",
        "Thing": "components>schemas>Thing",
        "Made": "components>schemas>Made",
    }
    first, _, rest = path.partition(">")
    part: Any = document
    *names, last = (shortened.get(first, first) + (f">{rest}" if rest else "")).split(">")
    for name in names:
        part = part[int(name)] if isinstance(part, list) else part[name]
    if value is None:
        del part[last]
    else:
        part[last] = value
    return document


Rule = tuple[str, Any, tuple[str, str]]
BREAKING: dict[str, Rule] = {
    "an operation is removed": ("paths>/thing", None, ("setThing", "setThing")),
    "a method has another id": ("op>operationId", "putThing", ("setThing", "setThing")),
    "a code no longer opens it": ("op>x-permissions", ["thing:all"], ("setThing", "thing:set")),
    "a way to authenticate is gone": ("op>security", [{"bearer": []}], ("setThing", "setThing")),
    "a parameter is removed": ("op>parameters", [], ("setThing", "size")),
    "a parameter is required": ("op>parameters>0>required", True, ("setThing", "size")),
    "a required parameter is new": (
        "op>parameters",
        [SIZE, {"in": "header", "name": "X-Key", "required": True, "schema": TEXT}],
        ("setThing", "X-Key"),
    ),
    "a default is another": ("op>parameters>0>schema>default", 50, ("setThing", "size")),
    "a bound of a parameter is tighter": ("op>parameters>0>schema>maximum", 100, ("setThing", "size")),
    "a pattern is asked for": ("op>parameters>0>schema>pattern", "^1", ("setThing", "size")),
    "a parameter has another type": ("op>parameters>0>schema>type", "string", ("setThing", "size")),
    "the body is required": ("op>requestBody>required", True, ("setThing", "requestBody")),
    "no body is taken": ("op>requestBody", None, ("setThing", "requestBody")),
    "a media type is no longer taken": ("op>requestBody>content>text/csv", None, ("setThing", "text/csv")),
    "a status of success is removed": ("op>responses>304", None, ("setThing", "304")),
    "a header of answers is removed": ("op>responses>200>headers>ETag", None, ("setThing", "ETag")),
    "a media type is no longer answered": (
        "op>responses>200>content",
        {"text/csv": {"schema": TEXT}},
        ("setThing", "application/json"),
    ),
    "a member of requests is removed": ("Thing>properties>kind", None, ("Thing", "kind")),
    "a member of requests is required": ("Thing>required", ["name", "kind"], ("Thing", "kind")),
    "a value is no longer taken": ("Thing>properties>state>enum", ["open"], ("Thing", "closed")),
    "a member takes certain values only": ("Thing>properties>kind>enum", ["a"], ("Thing", "kind")),
    "a lower bound is higher": ("Thing>properties>count>minimum", 2, ("Thing", "count")),
    "a member may not be null": ("Thing>properties>note", TEXT, ("Thing", "note")),
    "a map takes other values": (
        "Thing>properties>labels>additionalProperties",
        {"type": "integer"},
        ("Thing", "labels"),
    ),
    "a map is closed": (
        "Thing>properties>labels",
        {"type": "object", "additionalProperties": False},
        ("Thing", "labels"),
    ),
    "items of requests are another type": (
        "Thing>properties>parts>items",
        {"type": "integer"},
        ("Thing", "parts"),
    ),
    "a member of answers is removed": ("Made>properties>kind", None, ("Made", "kind")),
    "a member of answers may be missing": ("Made>required", [], ("Made", "name")),
    "a member of answers has another type": ("Made>properties>name>type", "integer", ("Made", "name")),
    "a member of answers has another format": ("Made>properties>time", TEXT, ("Made", "time")),
    "a value is new in answers": (
        "Made>properties>state>enum",
        ["open", "closed", "lost"],
        ("Made", "lost"),
    ),
    "a code of sentences is removed": (
        "Made>properties>reason>x-extensible-enum",
        ["short"],
        ("Made", "long"),
    ),
    "a parameter of a code is removed": ("Made>properties>reason>x-parameters", {}, ("Made", "short")),
    "a member of answers may be any value": ("Made>properties>state", TEXT, ("Made", "state")),
    "a member of answers may be null": (
        "Made>properties>name",
        {"anyOf": [TEXT, {"type": "null"}]},
        ("Made", "name"),
    ),
    "items of answers are another type": ("Made>properties>parts>items>type", "object", ("Made", "parts")),
    "a member of a problem is removed": (
        "components>schemas>Conflict>properties>field",
        None,
        ("Conflict", "field"),
    ),
}


@with_each("rule", BREAKING)
def test_a_client_breaks_when(rule: str) -> None:
    path, value, (place, name) = BREAKING[rule]
    changes = breaks(base(), changed(path, value))
    assert [(change.place, change.name) for change in changes] == [(place, name)]
    assert set().union(*changes.values()) == {"setThing", "PUT /thing"}


OTHER = {"type": "object", "properties": {"code": {"const": "other"}}}
HARMLESS: dict[str, tuple[str, Any]] = {
    "an operation is new": ("paths>/other", {"get": {"operationId": "getOther", "responses": {}}}),
    "an optional parameter is new": ("op>parameters", [SIZE, {"in": "query", "name": "q", "schema": TEXT}]),
    "nobody needs to authenticate": ("op>security", []),
    "another code opens it too": ("op>x-permissions", ["thing:all", "thing:set", "thing:more"]),
    "every login opens it": ("op>x-permissions", ["@login"]),
    "a bound of requests is wider": ("op>parameters>0>schema>maximum", 500),
    "a media type is taken too": ("op>requestBody>content>text/xml", {"schema": TEXT}),
    "an optional member of requests is new": ("Thing>properties>more", TEXT),
    "a member of requests is no longer required": ("Thing>required", []),
    "a value is taken too": ("Thing>properties>state>enum", ["open", "closed", "lost"]),
    "a member of requests may be null": (
        "Thing>properties>name",
        {"anyOf": [TEXT, {"type": "null"}]},
    ),
    "numbers are taken where integers were": ("Thing>properties>count>type", "number"),
    "a member of answers is new": ("Made>properties>more", TEXT),
    "a member of answers is always there": ("Made>required", ["name", "kind"]),
    "a value is no longer answered": ("Made>properties>state>enum", ["open"]),
    "a member of answers is never null": ("Made>properties>note", TEXT),
    "a bound of answers is tighter": ("Made>properties>name>maxLength", 3),
    "a header is answered too": ("op>responses>200>headers>Location", {}),
    "a code of sentences is new": (
        "Made>properties>reason>x-extensible-enum",
        ["short", "long", "late"],
    ),
    "a parameter of a code is new": ("Made>properties>reason>x-parameters", {"short": ["least", "most"]}),
    "a problem is no longer answered": ("op>responses>409", None),
    "a status of problems is new": ("op>responses>412", {}),
    "a problem code is new": (
        "op>responses>409>content>application/problem+json>schema",
        {"oneOf": [{"$ref": "#/components/schemas/Conflict"}, OTHER]},
    ),
}


@with_each("rule", HARMLESS)
def test_no_client_breaks_when(rule: str) -> None:
    assert breaks(base(), changed(*HARMLESS[rule])) == {}


def test_a_path_is_told_from_another_though_both_are_about_the_same_thing() -> None:
    renamed = base()
    renamed["paths"]["/things"] = renamed["paths"].pop("/thing")
    assert [str(change) for change in breaks(base(), renamed)] == ["setThing: the operation is removed"]


REQUIRED = Break("Thing", "kind", "`kind` is required now")
PLACES = {"setThing", "PUT /thing"}


@with_each(
    ("entry", "named"),
    [
        ("- Breaking: `PUT /thing` refuses bodies without `kind`.", True),
        ("- **Breaking:** bodies of\n  `setThing` need `kind`.", True),
        ("- Breaking: `Thing` needs `kind`.", True),
        ("- `PUT /thing` refuses bodies without `kind`.", False),
        ("- Breaking: `PUT /thing` refuses bodies without a kind.", False),
        ("- Breaking: `PUT /other` refuses bodies without `kind`.", False),
        ("- Breaking: `PUT /thing` changes.\n- Breaking: `kind` changes.", False),
    ],
)
def test_an_entry_of_the_changelog_names_a_change_and_its_place(entry: str, named: bool) -> None:
    text = f"# Changelog\n\n## [Unreleased]\n\n### Changed\n\n{entry}\n\n## [0.2.0] - 2026-11-22\n"
    assert is_named(REQUIRED, PLACES, breaking_entries(text)) == named


def test_an_entry_about_a_release_names_no_later_change() -> None:
    text = "## [Unreleased]\n\n## [0.2.0] - 2026-11-22\n\n- Breaking: `PUT /thing` needs `kind`.\n"
    assert breaking_entries(text) == []


def test_a_removed_operation_is_named_by_its_place_alone() -> None:
    gone = Break("setThing", "setThing", "the operation is removed")
    assert is_named(gone, PLACES, breaking_entries("## [Unreleased]\n- Breaking: `PUT /thing` is gone.\n"))


def test_the_check_fails_until_the_changelog_names_the_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    served = base() | {"info": {"version": "0.2.0"}}
    before = contract(served)
    before["paths"]["/api/old"] = {"get": {"operationId": "getOld", "responses": {}}}
    before["info"]["version"] = "0.1.9"
    changelog, kept = tmp_path / "CHANGELOG.md", tmp_path / "released.json"
    changelog.write_text("## [Unreleased]\n")
    kept.write_text(as_text(before))
    monkeypatch.setattr(command, "CHANGELOG", changelog)
    monkeypatch.setattr(command, "current", lambda: served)
    monkeypatch.setattr("tests.contract.document.RELEASED", kept)
    assert command.main([]) == 1
    output = capsys.readouterr().err
    assert "getOld: the operation is removed (`getOld` in `GET /api/old`)" in output
    assert "clients of version 0.1.9" in output
    changelog.write_text("## [Unreleased]\n\n### Removed\n\n- Breaking: `GET /api/old`.\n")
    assert command.main([]) == 0


def test_what_is_kept_is_the_api_of_the_newest_release() -> None:
    changelog = (RELEASED.parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    (newest, *_) = re.findall(r"^## \[(\d[\d.]*)\]", changelog, re.MULTILINE)
    assert released()["info"]["version"] == newest


def test_a_contract_has_no_prose_and_is_the_same_after_it_was_written() -> None:
    document = base() | {"info": {"version": "1"}}
    document["paths"]["/thing"]["put"]["summary"] = "Sets it"
    document["components"]["schemas"]["Thing"]["title"] = "Thing"
    document["components"]["schemas"]["Thing"]["properties"]["title"] = {"type": "string", "examples": ["x"]}
    made = contract(document)
    assert "summary" not in made["paths"]["/thing"]["put"]
    assert "title" not in made["components"]["schemas"]["Thing"]
    assert made["components"]["schemas"]["Thing"]["properties"]["title"] == TEXT
    assert json.loads(as_text(made)) == made
