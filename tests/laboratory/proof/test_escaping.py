"""The short way to a smallest caller finds the one that the way through all canonical samples finds."""

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from service.laboratory.proof.conditions import Condition, line_answers
from service.laboratory.proof.escaping import escaping, escaping_any
from tests.laboratory.proof.small import CODES, TEXT, models

WORDS = ("@login", "@anyone", "@nobody")

_plain = st.lists(st.sampled_from(["a", "b", "c", "aa"]), min_size=1, max_size=4).map(":".join)
_clauses = st.lists(
    st.lists(_plain | _plain | _plain | st.sampled_from((*WORDS, *CODES)), max_size=4, unique=True).map(
        tuple
    ),
    max_size=2,
).map(tuple)


@given(_clauses, _clauses, st.booleans(), models())
@settings(max_examples=3 * settings().max_examples, deadline=None)
def test_a_caller_who_escapes_is_the_first_of_all_canonical_samples(
    clauses: tuple[tuple[str, ...], ...], others: tuple[tuple[str, ...], ...], alike: bool, model: str
) -> None:
    # Requests mostly keep the codes of their endpoint.
    second = (*clauses[:1], *others[1:]) if alike else others
    for text in (TEXT, model):
        condition, other = Condition(line_answers(text), clauses), Condition(line_answers(TEXT), second)

        assert escaping(condition, other) == escaping_any(condition, other)


def _escaping(clauses: Iterable[tuple[str, ...]], others: Iterable[tuple[str, ...]]) -> set[str] | None:
    answers = line_answers(TEXT)
    held = escaping(Condition(answers, tuple(clauses)), Condition(answers, tuple(others)))
    return None if held is None else {*held}


def test_one_wildcard_for_both_clauses_is_smaller_than_two_codes() -> None:
    endpoint = ("system:user:list",)

    assert _escaping([("a:b:list",), endpoint], [("a:b:edit",), endpoint]) == {"*:*:list"}
    assert _escaping([("a:b:drop",), endpoint], [("a:b:edit",), endpoint]) == {
        "a:b:drop",
        "system:user:list",
    }


def test_nobody_escapes_what_lets_everybody_in_or_is_wider() -> None:
    assert _escaping([("a:b",)], [("@login", "a:c")]) is None
    assert _escaping([("a:b",)], [("a:c", "a:b")]) is None
    assert _escaping([("@login",)], [("a:b",)]) == set()
