"""Which permission codes others cover, wildcards included, for questions before a policy is published."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from service.authz.engine.policy import Policy
from service.authz.engine.rules import GRANT, Rule
from service.kernel.codes import HeldCodes


def covered_by(model_text: str) -> Callable[[Collection[str], Sequence[str]], tuple[str, ...]]:
    """Return what tells which of some codes somebody who holds others may grant, by a linted model.

    ``covered(held, codes)`` asks the enforcer of each of ``codes`` as of one that a Button carries.
    """

    @lru_cache(maxsize=1)
    def policy_of(codes: tuple[str, ...]) -> Policy:
        return Policy(model_text, [Rule(GRANT, code, code) for code in codes])

    def covered(held: Collection[str], codes: Sequence[str]) -> tuple[str, ...]:
        policy, holder = policy_of(tuple(codes)), HeldCodes(held)
        return tuple(code for code in codes if policy.judge(GRANT, code, holder).allowed)

    return covered
