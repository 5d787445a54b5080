"""Whole sets of classes are decided like each of them by the enforcer."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.authz.publishing.shipped import read_shipped
from service.authz.review.equivalence_classes import EquivalenceClasses, credited, numbers_of
from service.kernel.codes import HeldCodes

MODEL = read_shipped().model_text
CODES = ["a:x", "a:y", "b:x", "b:y:z", "@login", "@nobody", "@anyone", "a:*", "*"]
HELD = ["a:x", "a:y", "b:x", "b:y:z", "*", "a:*", "*:x", "b:*", "*:y:*"]

layers = st.lists(st.sampled_from(CODES), max_size=3, unique=True).map(tuple)
classes = st.lists(st.tuples(layers, layers), min_size=1, max_size=6)
roles = st.dictionaries(
    st.sampled_from("uvw"), st.sets(st.sampled_from(HELD), max_size=2), min_size=1, max_size=3
)


def passed(request_class: tuple[Iterable[str], Iterable[str]], held: HeldCodes) -> bool:
    rules = [
        Rule(layer, "GET /x", code)
        for layer, codes in zip(("resource", "endpoint"), request_class, strict=True)
        for code in codes
    ]
    policy = Policy(MODEL, rules)
    return all(policy.judge(layer, "GET /x", held).allowed for layer in ("resource", "endpoint"))


@given(classes, st.lists(st.sets(st.sampled_from(HELD), max_size=4), max_size=4))
def test_the_classes_that_somebody_passes_are_those_that_the_enforcer_allows(
    request_classes: list[tuple[tuple[str, ...], tuple[str, ...]]], holders: list[set[str]]
) -> None:
    passing = EquivalenceClasses(MODEL, request_classes)

    for held in map(HeldCodes, holders):
        expected = [
            number for number, request_class in enumerate(request_classes) if passed(request_class, held)
        ]
        assert list(numbers_of(passing.of(held))) == expected


@given(classes, roles)
def test_credited_are_roles_that_are_enough_or_without_which_it_fails(
    request_classes: list[tuple[tuple[str, ...], tuple[str, ...]]], given_by: dict[str, set[str]]
) -> None:
    def held(of: Iterable[str]) -> HeldCodes:
        return HeldCodes(code for role in of for code in given_by[role])

    passing, having = EquivalenceClasses(MODEL, request_classes), sorted(given_by)
    reported: dict[int, set[str | None]] = {}
    for role, which in credited(passing, having, held, passing.of(held(having))):
        for number in numbers_of(which):
            reported.setdefault(number, set()).add(role)

    for number, request_class in enumerate(request_classes):
        alone = {role for role in having if passed(request_class, held([role]))}
        without = {
            role
            for role in having
            if not passed(request_class, held(other for other in having if other != role))
        }
        expected = (alone or without or set(having)) if passed(request_class, held(having)) else set()
        assert reported.get(number, set()) == expected


def test_users_without_a_role_are_credited_without_one() -> None:
    passing = EquivalenceClasses(MODEL, [(("@login",), ("@login",))])

    assert list(credited(passing, [], HeldCodes, passing.of(HeldCodes()))) == [(None, 1)]
