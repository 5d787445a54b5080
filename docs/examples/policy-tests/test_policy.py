from pathlib import Path

import pytest

from service.policy_testing import PolicyCase, PolicyUnderTest, policy_cases

CASES = Path(__file__).parent / "cases"
CLERK = ["report:list", "report:detail"]


@policy_cases(CASES)
def test_the_policy_decides_as_the_tables_say(policy_case: PolicyCase) -> None:
    policy_case.check()


@pytest.mark.parametrize("request_", ["DELETE /api/user/7", "PUT /api/role/1/permissions", "POST /api/menu"])
def test_a_clerk_administers_nothing(policy_under_test: PolicyUnderTest, request_: str) -> None:
    assert not policy_under_test.allows(request_, CLERK)


def test_a_denial_names_the_codes_that_would_do(policy_under_test: PolicyUnderTest) -> None:
    denied = policy_under_test.explain("DELETE /api/user/7", CLERK).endpoint

    assert denied is not None
    assert (denied.reason, denied.required) == ("not_held", ("system:user:delete",))


def test_the_list_of_users_can_be_kept_to_auditors(policy_under_test: PolicyUnderTest) -> None:
    bound = policy_under_test.with_resources({"GET /api/user/list": ["audit:read"]})

    assert not bound.allows("GET /api/user/list", ["system:user:list"])
    assert bound.allows("GET /api/user/list", ["system:user:list", "audit:read"])
