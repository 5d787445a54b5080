from itertools import islice

import casbin
import pytest
from casbin.model import Model
from casbin.persist.adapters import StringAdapter

from service.authz.engine.rules import as_csv
from service.laboratory.table_run import casbin_decider, plain, run_tables
from service.laboratory.tables import Table, read_tables
from service.laboratory.tested import own_tables
from tests.policies.stock import EXAMPLE_TABLE, POLICIES, SHIPPED
from tests.support.cases import with_each

TABLES = own_tables(SHIPPED, [POLICIES / "cases"])


@pytest.mark.extended  # `dev.py check` asks the same: `policy test --coverage --mutate`
@with_each("table", TABLES)
def test_both_enforcers_decide_each_case_as_its_table_says(table: Table) -> None:
    assert list(map(str, run_tables(SHIPPED.model_text, [table]))) == []


def test_both_enforcers_decide_the_table_of_the_page_as_it_says(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("cases") / "example.yaml"
    path.write_text(EXAMPLE_TABLE, "utf-8")

    assert list(map(str, run_tables(SHIPPED.model_text, read_tables([path], SHIPPED)))) == []


@pytest.mark.parametrize("forgotten", ["r.layer == p.layer && ", "r.object == p.object && "])
def test_a_matcher_that_forgets_an_equality_fails_by_the_plain_enforcer(forgotten: str) -> None:
    table = next(table for table in TABLES if table.path.name == "wildcards.yaml")
    failures = run_tables(SHIPPED.model_text.replace(forgotten, ""), [table])

    assert {failure.enforcer for failure in failures} == {"plain"}


def test_lines_of_another_layer_and_another_object_change_no_answer_of_a_plain_casbin() -> None:
    for table in TABLES:
        model = Model()
        model.load_model_from_text(SHIPPED.model_text)
        ask_all = casbin_decider(casbin.Enforcer(model, StringAdapter(as_csv(table.rules))))
        ask = plain(SHIPPED.model_text, table.rules)
        for asked in islice(table.asked, 0, None, 50):
            for question in asked.questions:
                assert ask(question) == ask_all(question)


def test_there_are_as_many_cases_as_there_were() -> None:
    assert sum(len(table.asked) for table in TABLES) > 150
