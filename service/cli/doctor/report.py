"""The report of the findings, as text or as JSON."""

from __future__ import annotations

import json
from collections import Counter

from service.diagnosis.findings import STATES, Findings, worst_of


def status_of(findings: Findings, *, strict: bool) -> int:
    """Return the exit status: 1 for a fault, if ``strict`` for anything that is not ok, else 0."""
    worst = worst_of(findings)
    return int(worst == "fault" or (strict and worst != "ok"))


def as_text(findings: Findings) -> str:
    """Return one line per finding, and one that counts them."""
    width = max(len(name) for name, _ in findings)
    lines = []
    for name, one in findings:
        remedy = f" -> {one.remedy}" if one.remedy else ""
        message = " ".join(f"{one.message}{remedy}".split())
        lines.append(f"{one.state:7}  {name:{width}}  {message}")
    counts = Counter(one.state for _, one in findings)
    total = ", ".join(f"{state} {counts[state]}" for state in STATES if counts[state])
    return "\n".join([*lines, f"Checks: {len(findings)}; {total}."])


def as_json(findings: Findings) -> str:
    """Return an object with the worst state and all checks."""
    checks = [
        {"check": name, "state": one.state, "message": one.message, "remedy": one.remedy or None}
        for name, one in findings
    ]
    return json.dumps({"status": worst_of(findings), "checks": checks}, indent=2)
