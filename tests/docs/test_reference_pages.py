"""The reference has every command with its arguments, and every metric."""

from __future__ import annotations

from docs.site import command_line
from service.web.observability.exposition import FAMILIES
from tests.docs.pages import ROOT, between, rows

REFERENCE = ROOT / "docs" / "reference"


def test_every_command_is_shown_with_its_arguments() -> None:
    page = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    printed = ".venv/bin/python -m docs.site.command_line"
    assert between(page, "commands") == command_line.markdown(), f"this prints what belongs there: {printed}"


def test_every_metric_is_shown_with_its_type_and_what_it_is() -> None:
    page = (REFERENCE / "metrics.md").read_text(encoding="utf-8")
    shown = {name: (kind.partition(",")[0], text) for name, kind, _, text in rows(page)}
    assert shown == FAMILIES
