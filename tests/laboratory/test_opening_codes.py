"""Lines open by those held codes by which the enforcer opens them, and to holders of these alone."""

from hypothesis import given
from hypothesis import strategies as st

from service.authz.engine.policy import Policy
from service.authz.engine.rules import RESOURCE, Rule
from service.kernel.codes import HeldCodes
from service.laboratory.analysis.opening_codes import OpeningCodes
from tests.laboratory.proof.small import models
from tests.support.unstarted import SHIPPED

WORDS = ["@login", "@anyone", "@nobody"]
TOGETHER = SHIPPED.model_text.replace("|| holdsPattern(", "&& holdsPattern(")
"""A model that the lint refuses: some lines open to who holds their code in two ways."""

codes = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=4).map(":".join)
held_codes = st.sets(codes, max_size=6)


@given(st.just(TOGETHER) | models(), codes | st.sampled_from(WORDS), held_codes)
def test_a_line_opens_to_who_holds_opening_codes_or_where_it_opens_to_all(
    model_text: str, code: str, held: set[str]
) -> None:
    policy = Policy(model_text, [Rule(RESOURCE, "GET /a", code)])
    opening = OpeningCodes(model_text, held)

    def opens(*by: str) -> bool:
        return policy.judge(RESOURCE, "GET /a", HeldCodes(by)).allowed

    assert opening.to_all(code) == opens()
    if not opens():
        assert {*opening.alone(code)} == {each for each in held if opens(each)}
    together = [needed for needed in opening.together(code) if needed <= held]
    assert opens(*held) == (opening.to_all(code) or bool(opening.alone(code)) or bool(together))
    assert model_text != SHIPPED.model_text or not together


def test_by_a_model_that_needs_two_ways_of_holding_codes_open_a_line_together() -> None:
    opening = OpeningCodes(TOGETHER, ["a:*", "*:b", "a:c"])

    assert (opening.alone("a:b"), [*map(set, opening.together("a:b"))]) == ((), [{"a:*", "*:b"}])
