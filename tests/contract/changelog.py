"""Which breaking changes the changelog names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tests.contract.schemas import Break

_SECTION = re.compile(r"^## \[Unreleased\]$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)


def breaking_entries(changelog: str) -> list[set[str]]:
    """Return what each entry under [Unreleased] that says ``Breaking`` has between backticks."""
    section = _SECTION.search(changelog)
    entries = _ENTRY.findall(section[1]) if section else []
    return [
        {" ".join(code.split()) for code in re.findall(r"`([^`]+)`", entry)}
        for entry in entries
        if "breaking" in entry.lower()
    ]


def is_named(change: Break, operations: Iterable[str], entries: Iterable[set[str]]) -> bool:
    """Tell whether an entry names what has changed, and where: the component or one of ``operations``."""
    places = {change.place, *operations}
    return any(entry & places and (change.name in entry or change.name == change.place) for entry in entries)
