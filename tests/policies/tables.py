"""Reads the decision tables of ``policies/cases``; policies/README.md describes their form."""

from __future__ import annotations

from typing import Literal

import msgspec

from service.authz.engine.lines import Lines
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import ENDPOINT, NO_SESSION, RESOURCE, UNREGISTERED, read_rules
from service.authz.publishing.derive import Registered, derive
from tests.policies.stock import POLICIES


class _Strict(msgspec.Struct, forbid_unknown_fields=True):
    pass


class Disabled(_Strict):
    disabled: str


class Question(_Strict):
    """One question to one layer: about an object, or about a request that the layer resolves."""

    layer: Literal["resource", "endpoint", "grant"]
    object: str = ""
    request: str = ""


class Case(_Strict):
    caller: str
    asks: str | Question
    outcome: Literal["allow", "deny"]
    layer: Literal["resource", "endpoint", "grant"]
    line: str | None = None
    through: str | None = None
    required: list[str] | None = None


class Table(_Strict):
    callers: dict[str, list[str] | None]
    cases: list[Case]
    registered: dict[str, list[str | Disabled]] = {}
    codes: list[str] = []


BASE = read_rules(POLICIES / "base.csv")
ENDPOINTS = read_rules(POLICIES / "endpoints.csv")
TABLES = {
    path.name: msgspec.yaml.decode(path.read_bytes(), type=Table)
    for path in sorted((POLICIES / "cases").glob("*.yaml"))
}
EXAMPLE = msgspec.yaml.decode(
    (POLICIES / "README.md").read_text("utf-8").partition("```yaml\n")[2].partition("```")[0], type=Table
)
"""The table that policies/README.md shows."""


def rules_of(table: Table) -> Lines:
    shared = derive([_registered(name, codes) for name, codes in table.registered.items()], table.codes)
    return Lines(BASE).joined(Lines(ENDPOINTS), shared)


def _registered(name: str, codes: list[str | Disabled]) -> Registered:
    method, _, path = name.partition(" ")
    buttons = [(code, True) if isinstance(code, str) else (code.disabled, False) for code in codes]
    return Registered(method, path, buttons)


def objects_asked(table: Table, case: Case) -> list[tuple[str, str]]:
    """Return the ``(layer, object)`` that ``case`` asks, in order."""
    if isinstance(case.asks, str):
        return [_resource(table, case, case.asks), _endpoint(case.asks)]
    if case.asks.object:
        return [(case.asks.layer, case.asks.object)]
    return [
        _endpoint(case.asks.request)
        if case.asks.layer == ENDPOINT
        else _resource(table, case, case.asks.request)
    ]


def _resource(table: Table, case: Case, request: str) -> tuple[str, str]:
    if table.callers[case.caller] is None:
        return RESOURCE, NO_SESSION
    return RESOURCE, ResourceIndex(table.registered).find(*request.split(" ")) or UNREGISTERED


def _endpoint(request: str) -> tuple[str, str]:
    found = ResourceIndex(rule.object for rule in ENDPOINTS).find(*request.split(" "))
    if found is None:
        raise ValueError(f"no endpoint line fits {request}")
    return ENDPOINT, found
