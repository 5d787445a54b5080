"""Edits of a copy of ``assurance.table``, and the former files with the same lines."""

from pathlib import Path

from service.authz.engine.rules import as_csv
from service.authz.publishing.demand_table import LEVELS, TABLE, read_table


def set_demands(folder: Path, name: str, words: str, *levels: str) -> None:
    """Set the cells of an object to ``words``, at ``levels`` or all; "" takes the row away."""
    table = folder / TABLE
    rows = table.read_text("utf-8").splitlines()
    (at,) = (number for number, row in enumerate(rows) if row.rpartition("|")[2].strip() == name)
    if words:
        *cells, _ = (cell.strip() for cell in rows[at].split("|"))
        by_level = dict(zip(LEVELS, cells, strict=True)) | dict.fromkeys(levels or LEVELS, words)
        rows[at] = " | ".join((*by_level.values(), name))
    else:
        del rows[at]
    table.write_text("\n".join(rows) + "\n", "utf-8")


def add_demands(folder: Path, name: str, words: str) -> None:
    """Add a row with the same words at all levels."""
    with (folder / TABLE).open("a", encoding="utf-8") as table:
        table.write(" | ".join((*[words] * len(LEVELS), name)) + "\n")


def to_former_files(folder: Path, *levels: str) -> None:
    """Put the former files of ``levels``, or of all, in the place of the table of ``folder``."""
    lines = read_table(folder / TABLE)
    (folder / TABLE).unlink()
    (folder / "assurance").mkdir()
    for level in LEVELS:
        if not levels or level in levels:
            (folder / "assurance" / f"{level}.csv").write_text(as_csv(lines[level]), "utf-8")
