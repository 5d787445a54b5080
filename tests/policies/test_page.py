"""What docs/explanation/policy.md and the lines of docs/reference/rules.md show is what happens."""

import re
import subprocess
import sys

import pytest

from service.authz.engine.paths import canonical
from service.authz.engine.policy import Policy
from service.authz.engine.predicates import PREDICATES
from service.authz.engine.rules import Rule, checked
from service.errors import BadRequest
from service.kernel.codes import HeldCodes
from tests.docs.pages import between, rows
from tests.policies.stock import MODEL, ROOT
from tests.support.cases import with_each

PAGE = (ROOT / "docs" / "explanation" / "policy.md").read_text("utf-8")
SHOWN = re.findall(r"```(sh|python)\n(.*?)```\n\n```text\n(.*?)```", PAGE, flags=re.DOTALL)
LINES = (ROOT / "docs" / "reference" / "rules.md").read_text("utf-8")
WILDCARDS = rows(between(PAGE, "wildcards"))


def codes(cell: str) -> list[str]:
    return [code.strip().strip("`") for code in cell.split(",")]


def test_the_page_shows_what_is_tried_here() -> None:
    assert [kind for kind, _, _ in SHOWN] == ["sh", "python"]
    assert len(WILDCARDS) == 4
    assert len(rows(between(PAGE, "refused"))) == 8


@with_each(("kind", "source", "output"), SHOWN)
def test_a_program_of_the_page_prints_what_the_page_says(kind: str, source: str, output: str) -> None:
    program = ["sh", "-c"] if kind == "sh" else [sys.executable, "-c"]

    assert (
        subprocess.run([*program, source], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        == output
    )


def test_the_decision_id_of_the_page_is_the_one_that_a_policy_gives() -> None:
    held = HeldCodes(["system:user:list", "system:user:delete"])
    policy = Policy(MODEL.read_text(), revision=12, own_digest="9be1a6f0")

    assert f"`{policy.judge('endpoint', 'GET /api/role/list', held).id}`" in PAGE


@with_each(("held", "predicate", "opens", "not_opens"), WILDCARDS)
def test_a_row_of_the_wildcard_table_holds(held: str, predicate: str, opens: str, not_opens: str) -> None:
    assert all(PREDICATES[predicate](HeldCodes([held]), code) for code in codes(opens))
    for name in PREDICATES:
        if name != "isLoggedIn":
            assert not any(PREDICATES[name](HeldCodes([held]), code) for code in codes(not_opens))


@with_each("row", rows(between(PAGE, "refused")))
def test_a_path_that_the_page_calls_refused_is(row: list[str]) -> None:
    with pytest.raises(BadRequest):
        canonical(row[0])


def test_the_lines_of_the_reference_are_lines() -> None:
    lines = re.findall(r"^\| `p, ([^`]+)` \|", LINES, flags=re.MULTILINE)

    assert len(lines) == 33
    assert list(checked(("here", line.split(", ")) for line in lines)) == [
        Rule(*line.split(", ")) for line in lines
    ]


def test_the_page_describes_every_predicate() -> None:
    assert [name for name in PREDICATES if f"`{name}(" not in PAGE] == []
