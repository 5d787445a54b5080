"""The page of rules beside permission codes says what the code does."""

from __future__ import annotations

import ast
import re
from typing import get_args

from service.app import check_routes
from service.errors import ConflictRule
from service.kernel.account_acts import OBJECTS
from tests.docs.pages import between
from tests.support.running import ROOT
from tests.support.shipped import SHIPPED

PAGE = (ROOT / "docs" / "reference" / "rules.md").read_text("utf-8")


def named(table: str) -> list[str]:
    """Return what the first column of a table names."""
    return re.findall(r"^\| `([^`]+)`", between(PAGE, table), flags=re.MULTILINE)


def test_all_that_is_closed_whatever_is_held_is_listed() -> None:
    assert named("closed") == sorted(OBJECTS - {rule.object for rule in SHIPPED.accounts})


def test_every_rule_that_keeps_records_whole_is_listed() -> None:
    assert named("rules") == list(get_args(ConflictRule))


def test_every_conflict_of_the_service_names_its_rule() -> None:
    unnamed = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "service").rglob("*.py")
        if "Conflict(" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Conflict"
        if "rule" not in {keyword.arg for keyword in node.keywords}
    ]
    assert unnamed == []


def test_every_route_that_nobody_is_asked_about_is_listed() -> None:
    rows = re.findall(r"^\| `([^`]+)`(, and all below)? \|", between(PAGE, "outside"), flags=re.MULTILINE)
    served = {f"{operation.method} {operation.template}" for operation in check_routes(SHIPPED).outside}

    listed = {name for name, below in rows}
    covered = {
        route
        for route in served
        for name, below in rows
        if route == name or (below and route.startswith(f"{name}/"))
    }
    assert covered == served
    assert listed <= served
