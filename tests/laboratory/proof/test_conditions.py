import pytest
from hypothesis import given, settings

from service.authz.engine.policy import Policy
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import ENDPOINT, PolicyError
from service.kernel.codes import HeldCodes
from service.laboratory.proof.conditions import KINDS, canonical_samples, condition_of, kinds_of, wildcards_of
from service.laboratory.proof.request_classes import registered, request_classes
from tests.laboratory.proof.small import CODES, FEW, callers, policies


@settings(max_examples=40)
@given(policy=policies())
def test_a_caller_passes_exactly_with_one_of_the_smallest_sets(policy: Policy) -> None:
    served = list(policy.rules.objects(ENDPOINT))
    for request_class in request_classes(served, registered(policy), serving=ResourceIndex(served)):
        condition = condition_of(policy, request_class)
        opening = condition.smallest(FEW)
        for held in callers(FEW, 2):
            if held is not None:
                assert request_class.passes(policy, held) == any(each <= held.codes for each in opening)


def test_every_held_code_has_a_representative_of_which_all_predicates_say_the_same() -> None:
    for codes in (FEW[:3], ("a:b", "a:a"), ("a:b:a", "b:b:b", "a:*"), ("*:a", "*"), ("a:b:a",), CODES):
        known = {
            tuple(kinds_of(code, HeldCodes([held])) for code in codes) for held in canonical_samples(codes)
        }
        for held in (*CODES, "a:*:b:*", "c", "c:*", "*:c", "a:b:a:b"):
            kinds = tuple(kinds_of(code, HeldCodes([held])) for code in codes)
            assert kinds in known or not any(kinds), (codes, held)


def test_the_wildcards_of_a_code_are_all_held_codes_with_a_star_that_hold_it() -> None:
    for code in CODES:
        holding = {
            held_code for held_code in CODES if "*" in held_code and kinds_of(code, HeldCodes([held_code]))
        } - {code}
        assert set(wildcards_of(code)) == holding, code


def test_the_narrowest_wildcards_of_a_code_come_first() -> None:
    wildcards = wildcards_of("system:user:delete")

    assert len(wildcards) == 10
    assert wildcards[:3] == ["*:user:delete", "system:*:delete", "system:user:*"]
    assert wildcards[-1] == "*"
    with pytest.raises(PolicyError, match="more than"):
        wildcards_of(":".join("abcdefgh" * 4))


def test_each_predicate_about_held_codes_is_a_kind_of_its_own() -> None:
    held = {"a:b:c": "a:b:c", "*": "*", "a:*": "a:*", "*:b:c": "*:b:c"}

    assert [kinds_of("a:b:c", HeldCodes([code])) for code in held] == list(KINDS)
