"""The table of settings as Markdown, for docs/reference: ``python -m service.settings`` prints it."""

from itertools import groupby
from typing import get_type_hints

from service.settings.sections import Settings
from service.settings.table import Row, table_of

_HEAD = ("Setting", "Variable", "Default", "Unit", "Meaning")


def markdown() -> str:
    """Return one Markdown table per section, each under a heading and the section's summary."""
    owners = get_type_hints(Settings)
    return "\n".join(
        "\n".join([f"### `[{section}]`", "", owners[section].__doc__ or "", "", *_lines(list(rows)), ""])
        for section, rows in groupby(table_of(Settings), key=lambda row: row.section)
    )


def _lines(rows: list[Row]) -> list[str]:
    cells = [_HEAD, tuple("---" for _ in _HEAD), *map(_cells, rows)]
    return ["| " + " | ".join(line) + " |" for line in cells]


def _cells(row: Row) -> tuple[str, ...]:
    variables = "<br>".join(f"`{name}`" for name in (*row.variables, *row.files[:1]))
    described = " " in row.shown.strip() or "`" in row.shown
    default = row.shown if described else f"`{row.shown}`" if row.shown else "empty"
    return (f"`{row.name}`", variables, default, row.unit, row.help.replace("|", "\\|"))
