import re
from dataclasses import replace
from pathlib import Path

from service.authz.engine.lines import Lines
from service.authz.engine.rules import Rule
from service.authz.publishing.shipped import Shipped, read_shipped
from service.laboratory.invariants.checking import Checked, Holders, check
from service.laboratory.invariants.reading import read_invariants
from service.records.installation.seed_catalogue import ROLES
from tests.policies.stock import POLICIES

SHIPPED = read_shipped()
SEEDED = Holders({role.code: role.codes for role in ROLES})


def violations_of(shipped: Shipped) -> list[str]:
    policy = shipped.policy(Lines(), {}, 0)
    return [violation.statement.name for violation in check(SHIPPED.invariants, policy, SEEDED).violations]


def with_lines(*more: str, without: str = "") -> Shipped:
    endpoints = [rule for rule in SHIPPED.endpoints if str(rule) != without]
    endpoints += [Rule(*line.split(", ")[1:]) for line in more]
    return replace(SHIPPED, endpoints=tuple(endpoints))


def test_the_shipped_policy_keeps_its_invariants() -> None:
    assert len(SHIPPED.invariants.statements) > 8
    assert violations_of(SHIPPED) == []


def test_a_line_that_opens_more_or_less_than_is_listed_breaks_an_invariant() -> None:
    assert violations_of(with_lines("p, endpoint, GET /api/x, @anyone")) == ["@anyone endpoint"]
    assert violations_of(with_lines("p, account, delete self, @login")) == ["@login account"]
    assert violations_of(with_lines("p, account, delete self, system:user:delete")) == ["lines"]
    assert violations_of(with_lines("p, endpoint, GET /api/x, @nobody")) == ["@nobody endpoint"]
    assert violations_of(with_lines(without="p, endpoint, GET /api/user/info, @login")) == ["@login endpoint"]


def test_a_code_of_another_form_breaks_an_invariant() -> None:
    assert violations_of(with_lines("p, endpoint, GET /api/x, system:*")) == ["codes"]


def test_a_line_beside_a_word_breaks_an_invariant() -> None:
    assert violations_of(with_lines("p, endpoint, GET /api/user/info, system:user:list")) == [
        "@login endpoint"
    ]


def test_a_requirement_that_is_replaced_by_a_login_breaks_an_invariant() -> None:
    line = "p, endpoint, DELETE /api/user/{id}, system:user:delete"

    broken = violations_of(with_lines(line.replace("system:user:delete", "@login"), without=line))

    assert broken == ["@login endpoint", "changes-need-a-code"]


def test_the_statements_that_the_page_shows_hold_of_the_shipped_policy(tmp_path: Path) -> None:
    page = (POLICIES / "README.md").read_text("utf-8")
    (example,) = (text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "statements:" in text)
    (tmp_path / "shown.yaml").write_text(example, "utf-8")

    shown = read_invariants([tmp_path / "shown.yaml"])

    assert len(shown.statements) == 7
    assert check(shown, SHIPPED.policy(Lines(), {}, 0), SEEDED) == Checked((), ())


def test_a_node_that_closes_unregistered_requests_keeps_the_invariants_too() -> None:
    strict = read_shipped(strict=True)

    assert check(strict.invariants, strict.policy(Lines(), {}, 0), SEEDED).violations == ()
