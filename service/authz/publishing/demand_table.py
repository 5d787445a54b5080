"""The table of demands, ``assurance.table``: reads it strictly, derives its lines, and writes one.

The first row names the columns: one for each value of the setting ``policy.assurance``, and ``object``. A
cell holds words that are separated by one space; each becomes a line of the layer ``assurance``. Columns are
separated by ``|``, with any number of spaces around. Blank lines and lines that start with ``#`` are for
people.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias, get_args

from service.authz.engine.rules import (
    ANYONE,
    ASSURANCE,
    PolicyFileError,
    Rule,
    code_fault,
    object_fault,
)
from service.settings.sections.policy import Demands

TABLE: Final = "assurance.table"
"""The name of the file in a policy folder."""
LEVELS: Final[tuple[Demands, ...]] = get_args(Demands)
"""The values of the setting ``policy.assurance``: each has a column."""

DemandLines: TypeAlias = Mapping[Demands, tuple[Rule, ...]]
"""The lines of each level, in the order of the rows."""

_OBJECT: Final = "object"
_COLUMNS: Final = (*LEVELS, _OBJECT)
_SEPARATOR: Final = "|"


def read_table(path: Path) -> DemandLines:
    """Return the lines of the table ``path`` for each level.

    Raises PolicyError with the file, line and column of every fault, also of levels that are not in use.
    Faults are unknown or missing columns, an empty cell, and unknown or repeated words and objects.
    """
    rows = _rows(path)
    place, header = next(rows, (str(path), []))
    if (*header,) != _COLUMNS:
        named, expected = f" {_SEPARATOR} ".join(header), f" {_SEPARATOR} ".join(_COLUMNS)
        raise PolicyFileError(f"{place}: the first row must be the header '{expected}', not '{named}'")
    lines: dict[Demands, list[Rule]] = {level: [] for level in LEVELS}
    places: dict[str, str] = {}
    faults: list[str] = []
    for place, cells in rows:
        if row_faults := [*_row_faults(cells, places)]:
            faults += (f"{place}: {fault}" for fault in row_faults)
            continue
        *demands, name = cells
        places[name] = place
        for level, words in zip(LEVELS, demands, strict=True):
            lines[level] += (Rule(ASSURANCE, name, word) for word in words.split(" "))
    if faults:
        raise PolicyFileError(*faults)
    return {level: (*rules,) for level, rules in lines.items()}


def _rows(path: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield ``file:line`` and the cells of each row, the first row included."""
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyFileError(f"{path} can't be read: {error}") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line and not line.startswith("#"):
            yield f"{path}:{number}", [cell.strip(" ") for cell in line.split(_SEPARATOR)]


def _row_faults(cells: Sequence[str], places: Mapping[str, str]) -> Iterator[str]:
    """Yield the faults of a row; ``places`` are those of the objects that have a row already."""
    if len(cells) != len(_COLUMNS):
        yield (
            f"a row must have the {len(_COLUMNS)} columns {', '.join(_COLUMNS)}; this one has {len(cells)}"
        )
        return
    *demands, name = cells
    if fault := object_fault(ASSURANCE, name):
        yield f"column {_OBJECT}: {fault}"
    elif name in places:
        yield f"column {_OBJECT}: '{name}' appears twice, first in {places[name]}"
    for level, cell in zip(LEVELS, demands, strict=True):
        yield from (f"column {level}: {fault}" for fault in _cell_faults(name, cell))


def _cell_faults(name: str, cell: str) -> Iterator[str]:
    if not cell:
        yield f"the cell is empty; write {ANYONE} for no demand"
        return
    seen: set[str] = set()
    for word in cell.split(" "):
        if fault := code_fault(ASSURANCE, name, word):
            yield fault
        elif word in seen:
            yield f"{word} appears twice"
        seen.add(word)


def as_table(lines: DemandLines) -> str:
    """Return ``lines`` as the text of a table, aligned; the rows are in the order of the first level.

    Raises PolicyError for each object that has lines for some levels only.
    """
    cells = {level: _cells(lines[level]) for level in LEVELS}
    names = [*dict.fromkeys(name for level in LEVELS for name in cells[level])]
    missing = [
        f"'{name}' has no demand for the value {level} of policy.assurance"
        for name in names
        for level in LEVELS
        if name not in cells[level]
    ]
    if missing:
        raise PolicyFileError(*missing)
    rows = [_COLUMNS, *((*(cells[level][name] for level in LEVELS), name) for name in names)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(LEVELS))]
    return "".join(f"{_aligned(row, widths)}\n" for row in rows)


def _cells(rules: Sequence[Rule]) -> dict[str, str]:
    """Return the words of each object, as the text of its cell."""
    cells: dict[str, str] = {}
    for rule in rules:
        cells[rule.object] = f"{cells[rule.object]} {rule.code}" if rule.object in cells else rule.code
    return cells


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
    return f" {_SEPARATOR} ".join((*padded, row[-1]))
