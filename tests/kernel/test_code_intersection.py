"""What two sets of held codes grant in common."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.predicates import (
    holds_everything,
    holds_exactly,
    holds_pattern,
    holds_subtree,
    is_logged_in,
)
from service.kernel.codes import HeldCodes, intersection

SEGMENTS = st.sampled_from(["a", "b", "*", "a*"])
CODES = st.lists(SEGMENTS, min_size=1, max_size=4).map(":".join)
ODD = st.sampled_from(["", ":", "a:", "*:", "@login", "@nobody", "a::b"])


def grants(codes: frozenset[str], code: str) -> bool:
    """Decide as the matcher of the model does."""
    held = HeldCodes(codes)
    assert is_logged_in(held)
    rows = (holds_exactly, holds_everything, holds_subtree, holds_pattern)
    return any(row(held, code) for row in rows)


@given(st.frozensets(CODES, max_size=4), st.frozensets(CODES, max_size=4), CODES | ODD)
def test_the_intersection_grants_exactly_what_both_grant(
    first: frozenset[str], second: frozenset[str], required: str
) -> None:
    common = intersection(first, second)
    assert grants(common, required) == (grants(first, required) and grants(second, required))
    assert common == intersection(second, first)


@given(st.frozensets(CODES, max_size=4))
def test_everything_takes_nothing_away(codes: frozenset[str]) -> None:
    assert intersection(codes, ["*"]) == codes
    assert intersection(codes, codes) >= codes
