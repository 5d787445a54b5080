"""Words of assurance: a stronger authentication satisfies whatever a weaker one does."""

import itertools
from typing import get_args

import pytest

from service.kernel.assurance import (
    BY_STRONGEST,
    EVERY_CALLER,
    WORDS,
    Acr,
    Authentication,
    words_at,
    words_proving,
)
from tests.support.cases import with_each

NOW = 1_800_000_000.0

CLEAR = {"pwd": ["@login"], "mfa": ["@login", "@two-factors"]}
CLEAR["phr"] = [*CLEAR["mfa"], "@phishing-resistant"]


def words(acr: Acr, age: float, *, initial: bool = False) -> frozenset[str]:
    return words_at(Authentication(acr, ("pwd",), NOW - age, initial), NOW).codes


@with_each("acr", ["pwd", "mfa", "phr"])
@with_each(
    ("age", "ages"),
    [
        (-60, ["", "-within-12h", "-within-15m"]),
        (899.999, ["", "-within-12h", "-within-15m"]),
        (900, ["", "-within-12h"]),
        (43_199.999, ["", "-within-12h"]),
        (43_200, [""]),
        (NOW, [""]),
        (-60.1, [""]),
    ],
)
def test_words_follow_from_how_and_when(acr: Acr, age: float, ages: list[str]) -> None:
    expected = {f"{word}{within}" for word in CLEAR[acr] for within in ages}

    assert words(acr, age) == {"@anyone", "@initial", *expected}


@pytest.mark.parametrize("acr", ["pwd", "mfa", "phr"])
def test_an_initial_password_satisfies_nothing_else(acr: Acr) -> None:
    assert words(acr, 0, initial=True) == {"@anyone", "@initial"}


def test_a_key_is_no_login_and_nobody_is_anyone() -> None:
    assert words_at(None, NOW, by_key=True).codes == {"@anyone", "@service"}
    assert words_at(Authentication("phr", ("hwk",), NOW), NOW, by_key=True).codes == {"@anyone", "@service"}
    assert words_at(None, NOW).codes == {"@anyone"}


def test_equal_sets_of_words_are_one_object() -> None:
    ages = (0, 900, 43_200)
    reached = {
        words_at(Authentication(acr, (), NOW - age, initial), NOW)
        for acr, age, initial in itertools.product(get_args(Acr), ages, (False, True))
    } | {words_at(None, NOW), words_at(None, NOW, by_key=True)}

    assert reached == set(EVERY_CALLER) - {BY_STRONGEST["@current-password"]}
    assert len({each.codes for each in EVERY_CALLER}) == len(EVERY_CALLER)
    assert frozenset().union(*(each.codes for each in EVERY_CALLER)) == set(WORDS)


@with_each("initial", [True, False])
@with_each("age", [0, 900, 43_200])
@with_each("acr", get_args(Acr))
def test_who_sends_the_current_password_satisfies_its_word_beside_those_of_the_session(
    acr: Acr, age: float, initial: bool
) -> None:
    proved = words_proving(Authentication(acr, ("pwd",), NOW - age, initial), NOW)

    assert proved.codes == {"@current-password", *words(acr, age), *words("pwd", 0)}
    assert not any("@current-password" in words(acr, age, initial=initial) for age in (0, NOW))
