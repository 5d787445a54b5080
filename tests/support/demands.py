"""Policies of tests that say nothing about how strongly somebody must have authenticated."""

from collections.abc import Iterable

from service.authz.engine.rules import ACCOUNT, ASSURANCE, ASSURED, Rule, assured


def undemanding(rules: Iterable[Rule]) -> list[Rule]:
    """Return ``rules`` with a line for each request and situation that they name: no demand."""
    lines = list(rules)
    places = dict.fromkeys(rule[:2] for rule in lines if rule.layer in ASSURED and rule.layer != ACCOUNT)
    return [*lines, *(Rule(ASSURANCE, assured(*place), "@anyone") for place in places)]
