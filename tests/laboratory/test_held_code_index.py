"""Of many held codes, those are found that can matter, and all others hold nothing that is asked about."""

from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.predicates import HOLDING
from service.kernel.codes import HeldCodes
from service.laboratory.analysis.held_code_index import DecisiveCodes, HeldCodeIndex

codes = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=4).map(":".join)


def holds(held: set[str] | frozenset[str], code: str) -> bool:
    return any(predicate(HeldCodes(held), code) for predicate in HOLDING.values())


@given(st.sets(codes, max_size=8), codes | st.sampled_from(["@login"]))
def test_each_code_that_holds_another_one_is_near_it(held: set[str], code: str) -> None:
    near = HeldCodeIndex(held).near(code)

    assert {each for each in held if holds({each}, code)} <= near <= held


@given(
    st.dictionaries(st.sampled_from("xyz"), st.lists(codes, max_size=4)),
    st.sets(codes, max_size=3),
    st.sets(st.sampled_from("xyzu")),
)
def test_somebody_with_the_decisive_codes_alone_holds_the_same(
    given_codes: dict[str, list[str]], asked: set[str], roles: set[str]
) -> None:
    held = {code for role in roles for code in given_codes.get(role, ())}
    decisive = DecisiveCodes(given_codes, asked).of(roles)

    assert decisive <= held
    assert all(holds(decisive, code) == holds(held, code) for code in asked)
