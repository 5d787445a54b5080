"""The assessment against OWASP ASVS as Markdown, for docs/explanation/asvs.md: a table for each chapter."""
# ruff: noqa: RUF001 - the dash of the page

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

DATA: Final = Path(__file__).parents[1] / "explanation" / "asvs.yaml"


@cache
def assessment() -> dict[str, Any]:
    """Return the data: the titles of the ``chapters`` by number, and the ``requirements`` in order."""
    data: dict[str, Any] = yaml.safe_load(DATA.read_text("utf-8"))
    return data


def markdown() -> str:
    """Return a heading and a table for each chapter; a dash stands for a missing test."""
    data = assessment()
    lines: list[str] = []
    for number, title in data["chapters"].items():
        lines += [
            f"### {number}. {title}",
            "",
            "| Requirement | Level | What it asks | Status | Met by, or why not | Shown by |",
            "| --- | --- | --- | --- | --- | --- |",
            *_rows(data["requirements"], str(number)),
            "",
        ]
    return "\n".join(lines)


def _rows(requirements: list[dict[str, Any]], chapter: str) -> Iterator[str]:
    for item in requirements:
        if item["id"].partition(".")[0] == chapter:
            cells = (item["level"], item["asks"], item["status"], item["met_by"], item.get("shown_by", "–"))
            yield f"| v5.0.0-{item['id']} | {' | '.join(map(str, cells))} |"
