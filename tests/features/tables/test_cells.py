from hypothesis import given
from hypothesis import strategies as st

from service.kernel.text import escape_formula, unescape_formula
from tests.support.cases import with_each

FORMULAS = [
    "=1+1",
    "+49 30 1",
    "-2",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\uff1d1",
    "\uff0b1",
    "\uff0d1",
    "\uff201",
]


@with_each("text", [*FORMULAS, *(f"'{formula}" for formula in FORMULAS)])
def test_a_formula_gets_an_apostrophe_and_loses_it_again(text: str) -> None:
    assert escape_formula(text) == f"'{text}"
    assert unescape_formula(escape_formula(text)) == text


@with_each("text", ["", "wanda", "'tis", "''", "a=1", "1-2", " =1", "w\u00e4nda"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert escape_formula(text) == unescape_formula(text) == text


@given(st.text(alphabet="'=+-@ a\t\uff1d"))
def test_what_is_read_is_what_was_shown(text: str) -> None:
    assert unescape_formula(escape_formula(text)) == text


def test_a_formula_that_nobody_has_marked_is_read_as_it_stands() -> None:
    assert unescape_formula("+49 30 1234") == "+49 30 1234"
