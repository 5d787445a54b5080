"""The reference has every command with its arguments, and every metric."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from docs.site import command_line
from service.web.observability.families import OF_ALL, OF_WORKERS, Family
from tests.docs.pages import ROOT, between, rows

LABEL = re.compile(r"(?:^|, )`?(\w+)(?:`|$)")
REFERENCE = ROOT / "docs" / "reference"


def test_every_command_is_shown_with_its_arguments() -> None:
    page = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    printed = ".venv/bin/python -m docs.site.command_line"
    assert between(page, "commands") == command_line.markdown(), f"this prints what belongs there: {printed}"


@pytest.mark.parametrize(("table", "families"), [("of-workers", OF_WORKERS), ("of-all", OF_ALL)])
def test_every_metric_is_shown_with_its_type_its_labels_and_what_it_is(
    table: str, families: Mapping[str, Family]
) -> None:
    page = (REFERENCE / "metrics.md").read_text(encoding="utf-8")
    listed = rows(between(page, table))
    shown = {name: (kind, set(LABEL.findall(labels)), text) for name, kind, labels, text in listed}
    assert shown == {
        name: (family.kind, set(family.labels), family.help) for name, family in families.items()
    }
