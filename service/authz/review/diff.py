"""What two policies differ in: model, lines, and who gains and loses what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.authz.engine.policy import Policy
from service.authz.lint.model import parsed_model
from service.authz.proof.comparison import Differing, DifferingRequest, compared
from service.authz.review.impact import Differences, Standing, differences_on_demand


@dataclass(frozen=True, slots=True)
class AccessDiff:
    """Who gains and loses what: by the roles of today, and for every possible caller.

    ``callers`` are all requests and grants that the two decide differently for some caller, though no role of
    today may notice. The members of all these lists are made when they are read.
    """

    by_role: Differences
    callers: Sequence[DifferingRequest]


@dataclass(frozen=True, slots=True)
class LineDiff:
    """The lines that only one of two policies has, each in its order, and whether the models differ."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    model_changed: bool


def line_diff(before: Policy, after: Policy) -> LineDiff:
    """Compare models, without comments and layout, and lines."""
    old, new = set(before.rules), set(after.rules)
    return LineDiff(
        tuple(str(rule) for rule in after.rules if rule not in old),
        tuple(str(rule) for rule in before.rules if rule not in new),
        parsed_model(before.model_text) != parsed_model(after.model_text),
    )


def access_diff(before: Policy, after: Standing) -> AccessDiff:
    """Compare what ``before`` and the policy of ``after`` decide, for the roles and users of ``after``."""
    old = Standing(before, after.codes, after.users)
    asked = compared(before, after.policy)
    return AccessDiff(differences_on_demand(old, after, asked), Differing(before, after.policy, asked))
