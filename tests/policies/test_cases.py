from __future__ import annotations

import pytest

from service.laboratory.table_run import run_tables
from service.laboratory.tables import Table, read_tables
from service.laboratory.tested import own_tables
from tests.policies.stock import EXAMPLE_TABLE, POLICIES, SHIPPED

TABLES = own_tables(SHIPPED, [POLICIES / "cases"])


@pytest.mark.parametrize("table", TABLES, ids=[table.path.name for table in TABLES])
def test_both_enforcers_decide_each_case_as_its_table_says(table: Table) -> None:
    assert list(map(str, run_tables(SHIPPED.model_text, [table]))) == []


def test_both_enforcers_decide_the_table_of_the_page_as_it_says(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("cases") / "example.yaml"
    path.write_text(EXAMPLE_TABLE, "utf-8")

    assert list(map(str, run_tables(SHIPPED.model_text, read_tables([path], SHIPPED)))) == []


def test_there_are_as_many_cases_as_there_were() -> None:
    assert sum(len(table.asked) for table in TABLES) > 150
