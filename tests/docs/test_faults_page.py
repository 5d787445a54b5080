"""docs/explanation/faults.md names only tests, parts, checks and cells that exist."""

from __future__ import annotations

import re

from tests.benchmarks.fault_matrix.stores import FAULTS
from tests.benchmarks.faults import STORES
from tests.docs.pages import ROOT, between, rows
from tests.docs.shown_by import missing_files, missing_tests

PAGE = (ROOT / "docs" / "explanation" / "faults.md").read_text(encoding="utf-8")
OPERATING = (ROOT / "docs" / "guides" / "operating.md").read_text(encoding="utf-8")
TABLES = [rows(section) for section in PAGE.split("\n## ")[1:]]

_CODE = re.compile(r"`([^`]+)`")
_STATES = {"degraded", "read_only", "down"}


def column(number: int) -> set[str]:
    """Return what stands in backticks in a column of all tables."""
    lines = [line.removeprefix("| ") for line in PAGE.splitlines() if line.startswith("| ")]
    return {name for line in lines for name in _CODE.findall(line.split(" | ")[number])}


def test_every_row_is_complete() -> None:
    assert all(TABLES)
    assert {len(cells) for table in TABLES for cells in table} == {7}
    assert all(all(cells) for table in TABLES for cells in table)


def test_parts_of_readiness_and_checks_are_those_of_the_service() -> None:
    _, _, others = OPERATING.partition("| Part | Vital |")
    parts = {row[0] for row in rows(f"| Part | Vital |{others}".partition("\n\n")[0])}
    assert column(2) - _STATES <= parts
    checks = {row[0] for row in rows(between(OPERATING, "checks"))}
    assert column(4) - {"doctor"} <= checks


def test_every_test_and_every_cell_that_is_named_exists() -> None:
    assert missing_files(PAGE) == []
    assert missing_tests(PAGE) == []
    cells = {name for name in column(6) if re.fullmatch(r"[a-z]+:[a-z-]+", name)}
    assert cells
    assert cells <= {f"{store}:{fault}" for store in STORES for fault in FAULTS}
