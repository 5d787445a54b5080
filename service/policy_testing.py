"""Tests of the policy with pytest, for test projects of your own; ``docs/examples/policy-tests`` is one.

In ``conftest.py``::

    pytest_plugins = ["service.policy_testing"]

and in a test::

    @policy_cases(Path(__file__).parent / "cases")
    def test_the_policy_decides_as_the_tables_say(policy_case):
        policy_case.check()

    def test_deleting_users_needs_its_code(policy_under_test):
        assert not policy_under_test.allows("DELETE /api/user/7", ["system:user:update"])

The policy is that of the service's settings: ``PORTCULLIS_POLICY__MODEL`` and ``PORTCULLIS_POLICY__FOLDER``
name another one. Only files are read.
"""

from service.laboratory.pytest_cases import PolicyCase, PolicyUnderTest, policy_cases, policy_under_test

__all__ = ["PolicyCase", "PolicyUnderTest", "policy_cases", "policy_under_test"]
