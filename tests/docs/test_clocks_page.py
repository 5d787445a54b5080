"""docs/explanation/clocks.md names every instant that is stored: each column with a time, and each key."""

from __future__ import annotations

import re

from sqlalchemy import DateTime

from service.records import schema
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "explanation" / "clocks.md").read_text(encoding="utf-8")
KEYS = (ROOT / "docs" / "reference" / "session-store.md").read_text(encoding="utf-8")


def named_columns() -> set[str]:
    """Return the columns on the page: by table and name, or as columns ``of`` several tables."""
    column_names = set(re.findall(r"`(sys\.\w+\.\w+)`", PAGE))
    for row in PAGE.splitlines():
        for names, tables in re.findall(r"((?:`\w+`(?: and )?)+) of ((?:`sys\.\w+`(?:, )?)+)", row):
            columns = re.findall(r"`(\w+)`", names)
            column_names |= {
                f"{table}.{column}" for table in re.findall(r"`(sys\.\w+)`", tables) for column in columns
            }
    return column_names


def test_every_column_with_a_time_is_on_the_page_and_no_other() -> None:
    stored = {
        f"{table.fullname}.{column.name}"
        for table in schema.user.metadata.tables.values()
        for column in table.c
        if isinstance(column.type, DateTime)
    }
    assert len(stored) > 40
    assert named_columns() == stored


def test_every_key_of_the_session_store_is_on_the_page_and_no_other() -> None:
    listed = set(re.findall(r"^\| (`.*?`) \|", KEYS, re.MULTILINE))
    keys = {key for row in listed for key in re.findall(r"`([^`]+)`", row)}
    assert len(keys) > 15
    assert set(re.findall(r"`((?:auth|rate|policy):[^`]*)`", PAGE)) == keys
