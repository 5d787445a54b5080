"""A plain Casbin on the same files: the five functions registered, and nothing else of this service."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import casbin

from service.authz.engine.predicates import ANONYMOUS, PREDICATES
from service.authz.engine.rules import Rule, as_csv
from service.authz.publishing.shipped import read_shipped
from service.kernel.codes import HeldCodes

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "model.conf"
POLICIES = ROOT / "policies"
Decide = Callable[[str, str, HeldCodes | None], tuple[bool, Rule | None]]

SHIPPED = read_shipped(MODEL, POLICIES)
EXAMPLE_TABLE = (POLICIES / "README.md").read_text("utf-8").partition("```yaml\n")[2].partition("```")[0]
"""The table that policies/README.md shows."""


def stock_enforcer(folder: Path, rules: Iterable[Rule], model: Path = MODEL) -> Any:
    """Load ``model`` and ``rules``, written to a file in ``folder``, as anybody with Casbin would."""
    lines = folder / "lines.csv"
    lines.write_text(as_csv(rules), "utf-8")
    enforcer = casbin.Enforcer(str(model), str(lines))
    for name, function in PREDICATES.items():
        enforcer.add_function(name, function)
    return enforcer


def stock_decide(folder: Path, rules: Iterable[Rule]) -> Decide:
    enforcer = stock_enforcer(folder, rules)

    def decide(layer: str, name: str, held: HeldCodes | None) -> tuple[bool, Rule | None]:
        allowed, line = enforcer.enforce_ex(layer, name, ANONYMOUS if held is None else held)
        return allowed, Rule(*line) if line else None

    return decide
