"""Whether the routes of the code and the endpoint lines say the same."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from service.authz.rules import ENDPOINT, Rule

Route = tuple[str, str, AbstractSet[str]]
"""Method, template, and what the marks require: codes, or one of ``@anyone`` and ``@login``."""


def coverage_faults(routes: Iterable[Route], endpoints: Iterable[Rule]) -> list[str]:
    """Return a sentence for each route without a line, line without a route, and pair that differs.

    ``endpoints`` are the lines of the endpoint layer. Empty when code and lines agree.
    """
    declared = {f"{method} {template}": frozenset(codes) for method, template, codes in routes}
    lines: dict[str, set[str]] = {}
    for rule in endpoints:
        if rule.layer == ENDPOINT:
            lines.setdefault(rule.object, set()).add(rule.code)
    faults = []
    for name in sorted(declared.keys() | lines.keys()):
        wanted, found = declared.get(name), lines.get(name)
        if wanted is None:
            faults.append(f"{name}: there are endpoint lines and no such route")
        elif found is None:
            faults.append(f"{name}: the route has no endpoint line")
        elif wanted != found:
            faults.append(f"{name}: the code requires {_listed(wanted)}, the lines require {_listed(found)}")
    return faults


def _listed(codes: Iterable[str]) -> str:
    return " or ".join(sorted(codes)) or "nothing at all"
