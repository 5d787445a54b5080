"""Whole sets of classes are decided like each of them by the enforcer."""

from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.authz.publishing.shipped import read_shipped
from service.kernel.codes import HeldCodes
from service.laboratory.analysis.equivalence_classes import EquivalenceClasses, Tally, credited, of_classes
from service.laboratory.analysis.opening_codes import OpeningCodes
from service.laboratory.proof.batch_decider import DecidingLines
from tests.laboratory.proof.small import models

MODEL = read_shipped().model_text
CODES = ["a:x", "a:y", "b:x", "b:y:z", "@login", "@nobody", "@anyone", "a:*", "*"]
HELD = ["a:x", "a:y", "b:x", "b:y:z", "*", "a:*", "*:x", "b:*", "*:y:*"]

layers = st.lists(st.sampled_from(CODES), max_size=3, unique=True).map(tuple)
classes = st.lists(st.tuples(layers, layers), max_size=6)
roles = st.dictionaries(
    st.sampled_from("uvwx"), st.sets(st.sampled_from(HELD), max_size=2), min_size=1, max_size=4
)
numbers = st.integers(0, 2**5 - 1)


def passing_classes(
    given_by: dict[str, set[str]], lines: list[DecidingLines], model_text: str = MODEL
) -> EquivalenceClasses:
    held = {code for codes in given_by.values() for code in codes}
    return EquivalenceClasses(OpeningCodes(model_text, held), given_by, lines)


def held_by(given_by: dict[str, set[str]], having: Iterable[str]) -> HeldCodes:
    return HeldCodes(code for role in having for code in given_by[role])


def passes(lines: DecidingLines, held: HeldCodes, model_text: str = MODEL) -> bool:
    rules = [
        Rule(layer, "GET /x", code)
        for layer, codes in zip(("resource", "endpoint"), lines, strict=True)
        for code in codes
    ]
    policy = Policy(model_text, rules)
    return all(policy.judge(layer, "GET /x", held).allowed for layer in ("resource", "endpoint"))


@given(models(), classes, roles, st.sets(st.sampled_from("uvwx")))
def test_the_classes_that_roles_pass_together_are_those_that_the_enforcer_allows(
    model_text: str, lines: list[DecidingLines], given_by: dict[str, set[str]], chosen: set[str]
) -> None:
    having = sorted(chosen & given_by.keys())
    held = held_by(given_by, having)

    passed = passing_classes(given_by, lines, model_text).of(having)

    expected = [number for number, each in enumerate(lines) if passes(each, held, model_text)]
    assert list(of_classes(range(len(lines)), passed)) == expected


@given(classes, roles)
def test_credited_are_roles_that_are_enough_or_without_which_it_fails(
    lines: list[DecidingLines], given_by: dict[str, set[str]]
) -> None:
    passing, having = passing_classes(given_by, lines), sorted(given_by)
    credits_of: dict[int, set[str | None]] = {}
    for role, which in credited(passing, having, passing.of(having)):
        for number in of_classes(range(len(lines)), which):
            credits_of.setdefault(number, set()).add(role)

    for number, each in enumerate(lines):
        alone = {role for role in having if passes(each, held_by(given_by, [role]))}
        needed = {
            role
            for role in having
            if not passes(each, held_by(given_by, [other for other in having if other != role]))
        }
        expected = (alone or needed or {*having}) if passes(each, held_by(given_by, having)) else set()
        assert credits_of.get(number, set()) == expected


def test_where_no_role_is_enough_and_none_is_needed_all_are_credited() -> None:
    given_by = {"u": {"a:x"}, "v": {"a:*"}, "w": {"b:x"}, "x": {"b:*"}}
    passing = passing_classes(given_by, [(("a:x",), ("b:x",))])

    assert list(credited(passing, ["u", "v", "w"], 1)) == [("w", 1)]
    assert list(credited(passing, [*"uvwx"], 1)) == [(role, 1) for role in "uvwx"]


def test_users_without_a_role_are_credited_without_one() -> None:
    passing = passing_classes({}, [(("@login",), ("@login",))])

    assert list(credited(passing, [], passing.of([]))) == [(None, 1)]


@given(st.lists(st.tuples(numbers, st.integers(0, 9))))
def test_a_tally_has_the_sum_of_the_users_of_each_class(added: list[tuple[int, int]]) -> None:
    tally, expected = Tally(), Counter[int]()
    for which, users in added:
        tally.add(which, users)
        for number in of_classes(range(5), which):
            expected[number] += users

    assert {
        number: users for users, which in tally.numbers().items() for number in of_classes(range(5), which)
    } == expected
    assert all(tally.numbers().values())
