from functools import cache
from itertools import product
from pathlib import Path

import pytest

from service.authz.engine.rules import Rule
from service.authz.publishing.shipped import Shipped
from service.kernel.codes import HeldCodes
from service.laboratory.lint.model import lint_model
from service.laboratory.matcher_rows import joined, matcher_of, name_of, shown
from service.laboratory.mutants import Mutant, line_mutants, matcher_mutants
from service.laboratory.mutation import Bench
from service.laboratory.table_run import ENFORCERS, required_of
from service.laboratory.tables import Question, read_tables
from service.laboratory.tested import own_tables, table_places
from service.laboratory.witness import Judge, Universe, mutated
from tests.policies.stock import POLICIES, SHIPPED
from tests.support.cases import with_each

CASES = POLICIES / "cases"
TABLES = table_places(POLICIES, "base")
BASE = (Rule("resource", "@unregistered", "@login"), Rule("resource", "@no-session", "@anyone"))
SMALL = Shipped(
    SHIPPED.model_text,
    BASE,
    (
        Rule("endpoint", "GET /open", "@anyone"),
        Rule("endpoint", "GET /mine", "@login"),
        Rule("endpoint", "GET /user", "user:list"),
        Rule("endpoint", "GET /user", "user:all"),
    ),
)
ONE_CASE = """\
callers: {lister: [user:list]}
cases:
  - {caller: lister, asks: GET /user, outcome: allow, layer: endpoint,
     line: "p, endpoint, GET /user, user:list", through: "p, resource, @unregistered, @login"}
"""
MATCHER = matcher_of(SHIPPED.model_text)


@cache
def noticed_without(*names: str) -> dict[str, bool]:
    """Return by its text whether each mutant of the matcher changes a case of the tables but ``names``."""
    bench = Bench(SHIPPED, [table for table in own_tables(SHIPPED, TABLES) if table.path.name not in names])
    own = SHIPPED.rules
    return {mutant.text: bench.noticed(mutant) for mutant in matcher_mutants(MATCHER, own)}


def test_a_matcher_is_taken_apart_into_equalities_and_rows() -> None:
    assert (MATCHER.layers, MATCHER.objects) == ("r_layer == p_layer", "r_object == p_object")
    assert [name_of(row) for row in MATCHER.rows] == [
        "@anyone",
        "@login",
        "holdsExactly",
        "holdsEverything",
        "holdsSubtree",
        "holdsPattern",
        "satisfies",
    ]
    assert shown(MATCHER.rows[1]) == 'p.code == "@login" && isLoggedIn(r.caller)'


def test_conditions_that_are_no_rows_are_one_row() -> None:
    model = SHIPPED.model_text.replace("&& ( \\", "&& isLoggedIn(r.caller) && ( \\")

    assert len(matcher_of(model).rows) == 1


@with_each("enforcer", ENFORCERS)
def test_the_judge_of_mutants_answers_as_the_enforcers_do(enforcer: str) -> None:
    judge = Judge(MATCHER.expression)
    asked = 0
    for table in read_tables(
        [CASES / f"{name}.yaml" for name in ("bindings", "wildcards", "grants", "access-requests")], SHIPPED
    ):
        decide = ENFORCERS[enforcer](SHIPPED.model_text, table.rules)
        every = tuple(table.rules)
        for question in {question for case in table.asked for question in case.questions}:
            asked += 1
            allowed, line = decide(question)
            lines = table.rules.of(question.layer, question.object)
            answer = (line, () if allowed else tuple(required_of(table.rules, question)))
            assert judge.answer(question, lines) == answer
            assert judge.answer(question, every, keyed=False) == answer
    assert asked > 60


@pytest.mark.extended  # the command that `dev.py check` runs fails as well when something is not noticed
def test_cases_depend_on_every_shipped_line_and_row_and_notice_every_mutant() -> None:
    bench = Bench(SHIPPED, own_tables(SHIPPED, TABLES))
    coverage, mutation = bench.coverage(), bench.mutation()

    assert coverage.uncovered_lines == ()
    assert coverage.uncovered_rows == ()
    idle = [(row.row, row.layer) for row in coverage.rows if row.state == "idle"]
    assert {row: " ".join(layer for name, layer in idle if name == row) for row, _ in idle} == {
        "@anyone": "grant permission service account request approve review",
        "@login": "grant permission service assurance review",
        "holdsExactly": "assurance",
        "holdsEverything": "assurance",
        "holdsSubtree": "assurance",
        "holdsPattern": "assurance",
        "satisfies": "resource endpoint grant permission service account request approve review",
    }
    assert mutation.survivors == ()
    assert mutation.score == 1
    assert sum(tally.killed for tally in mutation.tallies) > 3000


ONE_LAYER = [f"with the row {row} in the layer resource only" for row in ("holdsSubtree", "holdsPattern")]
ONE_CODE = "with the row holdsSubtree for all codes but system:user:delete"
ITSELF = "wildcards widened: a * at the end may stand for no segment at all, in the layer resource"


@pytest.mark.extended
def test_faults_for_one_layer_or_one_code_are_noticed_by_the_cases_of_the_catalogue() -> None:
    before = noticed_without(
        "catalogue",
        "wildcards.yaml",
        "grants.yaml",
        "permissions.yaml",
        "services.yaml",
        "access-requests.yaml",
        "callers_accounts.yaml",
        "reviews.yaml",
    )
    after = noticed_without()

    assert [before[text] for text in (*ONE_LAYER, ONE_CODE)] == [False, False, False]
    assert [after[text] for text in (*ONE_LAYER, ONE_CODE)] == [True, True, True]


@pytest.mark.extended
def test_a_back_door_for_one_object_or_one_code_is_noticed_in_each_layer() -> None:
    noticed = noticed_without()

    for layer in ("resource", "endpoint"):
        assert (
            noticed[f"POST /api/user/import open to everyone who is logged in, in the layer {layer}"] is True
        )
    for layer in ("resource", "endpoint", "grant", "permission"):
        assert noticed[f"system:user:create open to everyone who is logged in, in the layer {layer}"] is True


@pytest.mark.extended
def test_a_widened_wildcard_is_noticed_by_the_cases_of_wildcards() -> None:
    assert noticed_without("wildcards.yaml")[ITSELF] is False
    assert noticed_without()[ITSELF] is True


def small_bench(folder: Path) -> Bench:
    return Bench(SMALL, read_tables([folder], SMALL))


def test_the_case_that_is_named_for_a_survivor_kills_it(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE_CASE)
    survivors = small_bench(tmp_path).mutation().survivors
    assert len(survivors) > 40
    for number, survivor in enumerate(survivors):
        assert survivor.case is not None
        (tmp_path / f"{number}.yaml").write_text(survivor.case)

    assert small_bench(tmp_path).mutation().survivors == ()


def test_a_line_on_which_no_case_depends_is_named(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE_CASE)

    coverage = small_bench(tmp_path).coverage()

    assert coverage.uncovered_lines == (
        "p, resource, @no-session, @anyone",
        "p, endpoint, GET /open, @anyone",
        "p, endpoint, GET /mine, @login",
        "p, endpoint, GET /user, user:all",
    )
    assert [row.row for row in coverage.rows if (row.layer, row.state) == ("endpoint", "covered")] == [
        "holdsExactly"
    ]


@pytest.mark.extended
def test_what_is_said_to_be_equivalent_no_set_of_held_codes_tells_apart() -> None:
    """Sets of two codes, of all codes of up to three segments of the policy's, another one and a wildcard."""
    universe = Universe(SMALL, MATCHER.expression)
    own = (*SMALL.base, *SMALL.endpoints)
    equivalent = [
        mutant
        for mutant in (*line_mutants(own, ()), *matcher_mutants(MATCHER, own))
        if universe.witness(mutant) is None
    ]
    codes = [
        ":".join(parts)
        for length in (1, 2, 3)
        for parts in product(("user", "list", "x", "*"), repeat=length)
    ]
    callers = [
        None,
        HeldCodes(),
        *(HeldCodes(pair) for pair in zip(codes, codes[7:] + codes[:7], strict=True)),
    ]

    assert len(equivalent) > 10
    assert [mutant.text for mutant in equivalent if differs(mutant, callers)] == []


def differs(mutant: Mutant, callers: list[HeldCodes | None]) -> bool:
    right, wrong = Judge(MATCHER.expression), Judge(mutant.expression or MATCHER.expression)
    own = (*SMALL.base, *SMALL.endpoints)
    grants = tuple(Rule("grant", code, code) for code in ("user:list", "user:all"))
    every = (*own, *grants)
    return any(
        right.answer(question, every, keyed=False)
        != wrong.answer(question, mutated(every, mutant), keyed=False)
        for layer, name in {rule[:2] for rule in every}
        for question in (Question(layer, name, held) for held in callers)
    )


@pytest.mark.extended
def test_nothing_is_called_equivalent_where_two_codes_together_may_be_told_apart(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(ONE_CASE)
    both = "|| (holdsExactly(r.caller, p.code) && holdsPattern(r.caller, p.code)) \\\n    )"
    own = Shipped(SHIPPED.model_text.replace("\n    )", f"\n    {both}"), SMALL.base, SMALL.endpoints)
    lint_model(own.model_text)

    mutation = Bench(own, read_tables([tmp_path], own)).mutation()

    assert not matcher_of(own.model_text).splits_by_code
    assert sum(tally.equivalent for tally in mutation.tallies) == 0
    assert any(survivor.case is None for survivor in mutation.survivors)


def test_a_matcher_without_rows_allows_nothing() -> None:
    judge = Judge(joined(MATCHER.layers, MATCHER.objects, ()))

    assert judge.answer(Question("endpoint", "GET /open", None), SMALL.endpoints[:1]).line is None


def test_a_policy_that_lets_people_approve_themselves_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "requests.yaml").write_text(
        """\
requestable: {auditor: {by: "@login", stages: [{code: "a:b", approvals: 2}]}}
callers: {newcomer: []}
cases:
  - {caller: newcomer, asks: {layer: approve, object: [role auditor stage 1 for self,
     role auditor stage 1 takes 2]}, outcome: deny, layer: approve, required: []}
"""
    )
    bench = Bench(SMALL, read_tables([tmp_path], SMALL))

    for name in ("role auditor stage 1 for self", "role auditor stage 1 takes 2"):
        opened = Rule("approve", name, "@login")
        assert opened in {mutant.added for mutant in bench._mutants()}
        assert bench.noticed(Mutant("", "", added=opened, layer="approve", object=name))
