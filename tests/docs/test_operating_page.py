"""guides/operating.md names every check of the doctor, in order, and every security event of the operator."""

from __future__ import annotations

import re

from service.diagnosis.checks import CHECKS
from tests.docs.pages import ROOT, between, rows

PAGE = (ROOT / "docs" / "guides" / "operating.md").read_text(encoding="utf-8")


def test_the_page_lists_the_checks_as_the_doctor_makes_them() -> None:
    assert [row[0] for row in rows(between(PAGE, "checks"))] == [check.name for check in CHECKS]


def test_every_security_event_of_the_operator_is_on_the_page() -> None:
    modules = (ROOT / "service").rglob("*.py")
    text = "".join(module.read_text(encoding="utf-8") for module in modules)
    events = re.findall(r'tell_security\(\s*settings,\s*"([^"]+)"', text)

    assert len(events) == 7
    assert [event for event in events if f"| `{event}` |" not in PAGE] == []
