"""Random questions about agents: no agent may do what its person, its roles or its delegation do not allow.

The expected answers are a statement of ``docs/reference/agents.md``: all three hold a code that opens the
object. Unless it is open without a code or the call is approved, a code of the delegation that needs no
approval opens it.
"""

import random
from typing import Final

import pytest

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE
from service.kernel.codes import BY_AGENT, BY_APPROVAL, BY_DELEGATION, Ceiling, bounded
from tests.support.rules_oracle import covers
from tests.support.unstarted import SHIPPED

POLICY: Final = Policy(SHIPPED.model_text, SHIPPED.rules)
OBJECTS: Final = sorted({(rule.layer, rule.object) for rule in SHIPPED.rules if rule.layer != ASSURANCE})
OPEN: Final = {"@anyone", "@login"}


def _codes(source: random.Random, known: list[str]) -> set[str]:
    """Return a few codes, some with wildcards."""
    codes = set()
    for code in source.choices(known, k=source.randint(0, 3)):
        segments = code.split(":")
        if source.random() < 0.5:
            segments[source.randrange(1, len(segments))] = "*"
        codes.add(
            ":".join(segments[: source.randint(2, len(segments))] if source.random() < 0.2 else segments)
        )
    if source.random() < 0.15:
        codes.add("*")
    return codes


@pytest.mark.parametrize("questions", [5_000, pytest.param(20_000, marks=pytest.mark.extended)])
def test_an_agent_may_do_what_all_three_allow_and_nothing_else(questions: int) -> None:
    source = random.Random(59)
    known = sorted({rule.code for rule in SHIPPED.rules if ":" in rule.code})
    allowed = asked = 0
    for _ in range(questions):
        layer, name = source.choice(OBJECTS)
        lines = set(POLICY.rules.codes(layer, name))
        near = [code for code in lines if ":" in code] * 20 + known
        person, agent, delegation = (_codes(source, near) for _ in range(3))
        approval = _codes(source, near) if source.random() < 0.3 else set()
        ceilings = [Ceiling(BY_AGENT, frozenset(agent)), Ceiling(BY_DELEGATION, frozenset(delegation))]
        if approval:
            ceilings.append(Ceiling(BY_APPROVAL, frozenset(approval)))

        def opens(held: set[str], lines: set[str] = lines) -> bool:
            return bool(lines & OPEN) or any(covers(held, code) for code in lines if ":" in code)

        free = {code for code in lines if ":" in code and not covers(approval, code)}
        to_approve = (
            bool(approval) and not lines & OPEN and not any(covers(delegation, code) for code in free)
        )
        expected = all(map(opens, (person, agent, delegation))) and not to_approve
        decision = POLICY.judge(layer, name, bounded(person, ceilings))
        assert decision.allowed is expected, (layer, name, person, agent, delegation, approval)
        assert not decision.allowed or POLICY.judge(layer, name, bounded(person, ())).allowed
        allowed += decision.allowed
        asked += to_approve
    assert min(allowed, questions - allowed, asked) > questions / 40
