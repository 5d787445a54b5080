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
CASES = [
    pytest.param(table, case, id=f"{name}-{number}-{case.caller}")
    for name, table in {**TABLES, "README.md": EXAMPLE}.items()
    for number, case in enumerate(table.cases, start=1)
]


def service_decide(_folder: Path, rules: Lines) -> Decide:
    policy = Policy(MODEL.read_text("utf-8"), rules)

    def decide(layer: str, name: str, held: HeldCodes | None) -> tuple[bool, Rule | None]:
        decision = policy.judge(layer, name, held)
        return decision.allowed, decision.line

    return decide


@pytest.mark.parametrize("build", [service_decide, stock_decide])
@pytest.mark.parametrize(("table", "case"), CASES)
def test_a_case_is_decided_as_its_table_says_by_the_line_it_says(
    table: Table, case: Case, build: Build, tmp_path: Path
) -> None:
    held = None if (codes := table.callers[case.caller]) is None else HeldCodes(codes)
    decide = build(tmp_path, rules_of(table))
    lines = []
    allowed, layer = True, ""
    for layer, name in objects_asked(table, case):
        allowed, line = decide(layer, name, held)
        lines.append(None if line is None else str(line))
        if not allowed:
            break

    assert (allowed, layer) == (case.outcome == "allow", case.layer)
    assert lines[-1] == case.line
    assert (lines[0] if len(lines) > 1 else None) == case.through


@pytest.mark.parametrize(("table", "case"), CASES)
def test_a_denial_names_the_codes_any_one_of_which_would_do(table: Table, case: Case) -> None:
    policy = Policy(MODEL.read_text("utf-8"), rules_of(table))
    held = None if (codes := table.callers[case.caller]) is None else HeldCodes(codes)
    decisions = [policy.judge(layer, name, held) for layer, name in objects_asked(table, case)]
    denial = next((decision for decision in decisions if not decision.allowed), None)

    assert (denial is not None) == (case.required is not None)
    assert denial is None or list(denial.required) == case.required
    for code in case.required or []:
        if not code.startswith("@") and denial is not None:
            assert policy.judge(denial.layer, denial.object, HeldCodes([code])).allowed


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
