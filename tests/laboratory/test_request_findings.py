"""What is found in rules of requests for access, by who may log in."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from service.authz.publishing.derive import derive
from service.kernel.request_objects import PublishedRule, Stage
from service.laboratory.analysis.impact import Standing
from service.laboratory.findings.request_findings import request_findings
from service.laboratory.invariants.reading import read_invariants
from service.laboratory.invariants.statements import NONE, Invariants
from tests.policies.stock import SHIPPED
from tests.support.cases import with_each

ROLES = {"auditor": ("log:read",), "chief": ("log:*", "ok:one"), "second": ("ok:two",), "both": ("ok:*",)}
TWO_FACTORS = ("@two-factors",)


def findings_of(
    rule: PublishedRule, users: Mapping[Any, int], invariants: Invariants = NONE
) -> list[tuple[str, str, str]]:
    codes = sorted({code for given in ROLES.values() for code in given if "*" not in code} | {"ok:two"})
    policy = SHIPPED.policy(derive([], codes, requestable=[rule]), {}, 1)
    findings = request_findings(Standing(policy, ROLES, Counter(users)), invariants)
    return [(finding.finding, finding.place, finding.reason) for finding in findings]


def rule(*stages: Stage, grant_needed: bool = False, emergency: bool = False) -> PublishedRule:
    return PublishedRule("auditor", "@login", stages, TWO_FACTORS, grant_needed, emergency)


@with_each(
    ("stages", "users", "short"),
    [
        ((Stage("ok:one", 1),), {("chief",): 2}, None),
        (
            (Stage("ok:one", 1),),
            {("chief",): 1},
            "stage 1 takes 1 person, and 0 can approve beside a person with the roles chief",
        ),
        ((Stage("ok:one", 1),), {(): 3}, "stage 1 takes 1 person, and 0 can approve"),
        # One person counts in one stage, though it may approve both.
        (
            (Stage("ok:one", 1), Stage("ok:two", 1)),
            {("both",): 2},
            "stage 1 and 2 takes 2 persons, and 1 can approve beside a person with the roles both",
        ),
        ((Stage("ok:one", 1), Stage("ok:two", 1)), {("both",): 3}, None),
        ((Stage("ok:one", 1), Stage("ok:two", 1)), {("chief",): 2, ("second",): 2}, None),
    ],
)
def test_too_few_approvers_are_found_when_each_possible_author_is_left_out(
    stages: tuple[Stage, ...], users: dict[tuple[str, ...], int], short: str | None
) -> None:
    expected = [] if short is None else [("request-unapprovable", "role auditor", short)]
    assert findings_of(rule(*stages), users) == expected


def test_who_can_not_grant_the_role_does_not_count_where_that_is_needed() -> None:
    users = {("both",): 5}
    assert findings_of(rule(Stage("ok:one", 1)), users) == []
    assert [name for name, _, _ in findings_of(rule(Stage("ok:one", 1), grant_needed=True), users)] == [
        "request-unapprovable"
    ]
    assert findings_of(rule(Stage("ok:one", 1), grant_needed=True), {("chief",): 2}) == []


def test_a_role_that_a_statement_keeps_from_who_may_ask_for_it_is_found(tmp_path: Path) -> None:
    stated = tmp_path / "invariants.yaml"
    stated.write_text(
        "statements: [{name: apart, reason: four eyes, no_user_holds: ['log:read', 'ok:two']}]", "utf-8"
    )
    users = {("second",): 1, ("chief",): 3}

    findings = findings_of(rule(Stage("ok:one", 1)), users, read_invariants([stated]))

    ((name, place, reason),) = findings
    assert (name, place) == ("request-against-invariant", "role auditor")
    assert reason.startswith("apart: ")
    assert "a user with the roles second" in reason
    assert findings_of(rule(Stage("ok:one", 1)), {("chief",): 3}, read_invariants([stated])) == []


def test_an_emergency_for_a_password_alone_is_found() -> None:
    users = {("chief",): 3}
    strong = rule(Stage("ok:one", 1), emergency=True)

    assert findings_of(strong, users) == []
    assert [each[:2] for each in findings_of(strong._replace(demand=("@login",)), users)] == [
        ("emergency-without-two-factors", "role auditor emergency")
    ]
