from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from service.authz.engine.lines import Lines
from service.authz.engine.paths import canonical
from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.kernel.codes import HeldCodes
from tests.policies.stock import MODEL, Decide, stock_decide
from tests.policies.tables import BASE, ENDPOINTS, EXAMPLE, TABLES, Case, Table, objects_asked, rules_of

Build = Callable[[Path, Lines], Decide]
ALL_TABLES = {**TABLES, "README.md": EXAMPLE}
a_table = pytest.mark.parametrize("table", ALL_TABLES.values(), ids=ALL_TABLES)


def service_decide(_folder: Path, rules: Lines) -> Decide:
    policy = Policy(MODEL.read_text("utf-8"), rules)

    def decide(layer: str, name: str, held: HeldCodes | None) -> tuple[bool, Rule | None]:
        decision = policy.judge(layer, name, held)
        return decision.allowed, decision.line

    return decide


def held_by(table: Table, case: Case) -> HeldCodes | None:
    return None if (codes := table.callers[case.caller]) is None else HeldCodes(codes)


@pytest.mark.parametrize("build", [service_decide, stock_decide])
@a_table
def test_each_case_is_decided_as_its_table_says_by_the_line_it_says(
    table: Table, build: Build, tmp_path: Path
) -> None:
    decide = build(tmp_path, rules_of(table))

    def decided(case: Case) -> tuple[object, ...]:
        """Return outcome, layer, the line that decided, and the line that let through before it."""
        lines = []
        allowed, layer = True, ""
        for layer, name in objects_asked(table, case):
            allowed, line = decide(layer, name, held_by(table, case))
            lines.append(None if line is None else str(line))
            if not allowed:
                break
        return ("allow" if allowed else "deny", layer, lines[-1], lines[0] if len(lines) > 1 else None)

    found = {number: decided(case) for number, case in enumerate(table.cases, start=1)}
    assert found == {
        number: (case.outcome, case.layer, case.line, case.through)
        for number, case in enumerate(table.cases, start=1)
    }


@a_table
def test_each_denial_names_the_codes_any_one_of_which_would_do(table: Table) -> None:
    policy = Policy(MODEL.read_text("utf-8"), rules_of(table))

    def required(case: Case) -> list[str] | None:
        """Return the codes that the denial names, None without one; the case holds that each will do."""
        asked = objects_asked(table, case)
        decisions = [policy.judge(layer, name, held_by(table, case)) for layer, name in asked]
        denial = next((decision for decision in decisions if not decision.allowed), None)
        if denial is None:
            return None
        for code in case.required or []:
            if not code.startswith("@"):
                assert policy.judge(denial.layer, denial.object, HeldCodes([code])).allowed, (case, code)
        return list(denial.required)

    found = {number: required(case) for number, case in enumerate(table.cases, start=1)}
    assert found == {number: case.required for number, case in enumerate(table.cases, start=1)}


def test_no_table_is_empty() -> None:
    assert min(len(table.cases) for table in ALL_TABLES.values()) > 0
    assert sum(len(table.cases) for table in ALL_TABLES.values()) > 150


def test_every_shipped_line_decides_a_case() -> None:
    deciding = {
        text for table in TABLES.values() for case in table.cases for text in (case.line, case.through)
    }

    assert [str(rule) for rule in (*BASE, *ENDPOINTS) if str(rule) not in deciding] == []


def test_the_requests_of_the_tables_are_canonical() -> None:
    for table in TABLES.values():
        for case in table.cases:
            request = case.asks if isinstance(case.asks, str) else case.asks.request
            if request:
                path = request.split(" ")[1]
                assert canonical(path) == path
