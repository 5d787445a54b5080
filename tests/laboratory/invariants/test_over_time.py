"""Statements about users hold in every interval between the beginnings and ends of assignments."""

import random
from datetime import timedelta

import pytest

from service.authz.engine.rules import PolicyError
from service.laboratory.invariants.checking import Holders, Situation, Violation, check, newly_broken
from service.laboratory.invariants.spans import Held, Span, joined, pieces
from service.laboratory.invariants.statements import Invariants
from tests.laboratory.invariants.stated import NOW, holders, policy_of, stated
from tests.support.cases import with_each

ROLES = {"maker": "a:make", "checker": "a:check", "both": "a:make a:check", "top": "a:*"}
APART = stated("no_user_holds: ['a:make', 'a:check'], except_roles: [top]")
WITHIN = stated("grants_end_within: {days: 30, codes: ['a:make']}, except_roles: [top]")
POLICY = policy_of()


def span(begin: float | None = None, end: float | None = None) -> Span:
    """Return an interval in days from now."""
    return Span(*(None if day is None else NOW + timedelta(days=day) for day in (begin, end)))


def held(role: str, begin: float | None = None, end: float | None = None) -> Held:
    return Held(role, span(begin, end))


def changing(*windows: Held) -> Holders:
    return holders(ROLES, {}, {"ibis": windows})


def findings(invariants: Invariants, given: Holders) -> list[str]:
    return [violation.finding for violation in check(invariants, POLICY, given).violations]


def new(invariants: Invariants, before: Holders, after: Holders) -> list[Violation]:
    return newly_broken(invariants, Situation(POLICY, before), Situation(POLICY, after))


def test_two_roles_that_never_overlap_are_no_violation() -> None:
    assert findings(APART, changing(held("maker", None, 5), held("checker", 5))) == []


def test_a_future_overlap_is_a_violation_today_and_the_finding_names_the_interval() -> None:
    assert findings(APART, changing(held("maker", None, 5), held("checker", 3, 9))) == [
        (
            "the user ibis holds a:make and a:check, by checker, maker"
            " from 2026-11-04T00:00:00.000Z until 2026-11-06T00:00:00.000Z"
        )
    ]


def test_an_exception_counts_while_the_user_has_that_role() -> None:
    windows = held("both"), held("top", None, 5)
    assert findings(APART, changing(*windows)) == [
        "the user ibis holds a:make and a:check, by both from 2026-11-06T00:00:00.000Z"
    ]


def test_a_breach_may_become_shorter_and_neither_longer_nor_earlier() -> None:
    before = changing(held("both", 2, 8))

    assert new(APART, before, changing(held("both", 2, 6))) == []
    assert new(APART, before, changing(held("both", 3, 8), held("maker", 1))) == []
    assert len(new(APART, before, changing(held("both", 2, 9)))) == 1
    assert len(new(APART, before, changing(held("both", 1, 8)))) == 1
    assert len(new(APART, before, holders(ROLES, {"ibis": ("both",)}))) == 1
    assert new(APART, holders(ROLES, {"ibis": ("both",)}), before) == []


@with_each(
    ("windows", "broken"),
    [
        ([held("maker", None, 30)], False),
        ([held("maker", None, 31)], True),
        ([held("maker", 100, 130)], False),
        ([held("maker", 100, 131)], True),
        ([held("maker", 100)], True),
        ([held("maker", None, 20), held("both", 20, 40)], True),
        ([held("maker", None, 20), held("both", 21, 40)], False),
        ([held("maker", None, 20), held("top")], False),
        ([held("checker")], False),
    ],
)
def test_what_is_granted_ends_within_the_days_of_the_statement(windows: list[Held], broken: bool) -> None:
    assert bool(findings(WITHIN, changing(*windows))) == broken


def test_a_role_without_an_end_is_named_with_who_has_it() -> None:
    statement = stated("grants_end_within: {days: 7, roles: [checker]}")

    assert findings(statement, holders(ROLES, {"ibis": ("checker",), "rail": ("maker",)})) == [
        "the user ibis has the role checker, without an end"
    ]


def test_a_statement_about_ends_asks_for_roles_and_users() -> None:
    assert WITHIN.about_users
    assert WITHIN.about_roles
    assert check(WITHIN, POLICY).unchecked == WITHIN.statements


@with_each(
    ("text", "reason"),
    [
        ("grants_end_within: {days: 0, roles: [a]}", "days must be 1 or more"),
        ("grants_end_within: {days: 3}", "must name roles, codes, or both"),
        ("grants_end_within: {days: 3, codes: ['a:*']}", "has a wildcard"),
        ("grants_end_within: {days: 3, roles: [a]}, reach: [GET /api/role/list]", "does not belong to"),
    ],
)
def test_a_statement_about_ends_is_read_strictly(text: str, reason: str) -> None:
    with pytest.raises(PolicyError, match=reason):
        stated(text)


def test_intervals_say_at_each_instant_what_the_assignments_say() -> None:
    dice = random.Random(5)
    for _ in range(60):
        windows = []
        for _ in range(dice.randint(1, 6)):
            begin = dice.choice([None, *range(1, 20)])
            end = dice.choice([None, *range((begin or 0) + 1, 25)])
            windows.append(held(dice.choice(list(ROLES)), begin, end))
        cut = list(pieces(windows))
        assert list(joined(each for each, _ in cut)) == [Span()]
        for half_day in range(60):
            instant = span(half_day / 2, half_day / 2 + 0.1)
            (roles,) = [roles for each, roles in cut if each.covers(instant)]
            assert roles == tuple(sorted({each.role_code for each in windows if each.span.covers(instant)}))
