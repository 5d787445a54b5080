"""Plans the request rules of roles after a restore."""

from collections.abc import Iterable
from typing import Any

from service.administration.request_rules import shown
from service.authz.engine.rules import APPROVE, ASSURANCE, REQUEST, assured
from service.features.policy_history import store_row_history as policy_row_history
from service.features.policy_history.sentences import sentence
from service.features.policy_history.steps import Step, changed
from service.kernel.coded_sentences import Sentence
from service.kernel.request_objects import ask, role_of
from service.records import request_rules, roles
from service.records.database.transactions import Connection
from service.records.published import policy_history
from service.records.published.policy_history import PublishedLine
from service.records.request_rules import RuleValues

_DEMANDED = assured(REQUEST, "")


def is_of_rule(line: PublishedLine) -> bool:
    """Return whether a line follows from the request rule of a role."""
    return line.layer in (REQUEST, APPROVE) or (line.layer == ASSURANCE and line.object.startswith(_DEMANDED))


async def plan_rules(
    connection: Connection, revision: int, rows: int, differing: Iterable[PublishedLine], steps: list[Step]
) -> list[tuple[str, Sentence]]:
    """Add to ``steps`` the edits that restore the request rules of ``revision``; return the obstacles.

    Only rules with differing lines are planned. Their limits come from the kept rows of revision ``rows``. A
    role that was disabled or not requestable loses its rule. A deleted or disabled role can't get a rule.
    """
    lines = filter(is_of_rule, differing)
    codes = sorted({role_of(line.object.removeprefix(_DEMANDED)) for line in lines})
    stored = await roles.by_code(connection, codes)
    past = await policy_row_history.request_rules_at(connection, rows, codes)
    asked = await policy_history.codes_at(connection, revision, list(map(ask, codes)), REQUEST)
    obstacles = []
    for code in codes:
        role, values = stored.get(code), past.get(code)
        if ask(code) not in asked:
            if role is not None:
                steps.append(Step("role", "unrule", ("role", code), role.id))
        elif role is None or not role.enabled:
            state = sentence("role_gone" if role is None else "role_disabled")
            obstacles.append((ask(code), state))
        elif values is None:
            obstacles.append((ask(code), sentence("rule_limits_not_stored")))
        else:
            now = await request_rules.of_role(connection, role.id)
            before, after = _as_reported(now), _as_reported(values)
            changes = changed(**{name: (before.get(name), value) for name, value in after.items()})
            steps.append(Step("role", "rule", ("role", code), role.id, values, changes))
    return obstacles


def _as_reported(rule: RuleValues | None) -> dict[str, Any]:
    """Return a rule as edits report it: numbers as text."""
    return {name: str(value) if type(value) is int else value for name, value in shown(rule).items()}
