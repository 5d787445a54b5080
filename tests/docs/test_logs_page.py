"""docs/reference/logs.md names every event that is entered, and every name that is withheld."""

from __future__ import annotations

import re

from service.audit import redaction
from service.records.schema import operation_log
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "logs.md").read_text(encoding="utf-8")
RECORDED = PAGE.partition("## What is recorded")[2].partition("\n## ")[0]


def test_every_event_of_the_login_log_is_on_the_page() -> None:
    text = "".join(module.read_text(encoding="utf-8") for module in (ROOT / "service" / "authn").glob("*.py"))
    events = set(re.findall(r'(?:\.own|\.by_other|_enter_own)\(\s*"(\w+)"', text)) | {"refresh", "reuse"}
    table = RECORDED.partition("| `event` |")[2].partition("\n\n")[0]
    first_cells = "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))

    assert len(events) == 13
    assert set(re.findall(r"`(\w+)`", first_cells)) == events


def test_every_column_that_says_something_of_an_operation_is_on_the_page() -> None:
    made = {"id", "create_time", "event_id", "chain_key", "chain_number", "chain_hash"}
    columns = {column.name for column in operation_log.columns} - made

    assert [name for name in sorted(columns) if f"`{name}`" not in RECORDED] == []


def test_every_name_that_is_withheld_is_on_the_page() -> None:
    for name in (*redaction.SIGNS, *redaction.NAMES):
        assert f"`{name}`" in RECORDED, name
