"""Tables in CSV (RFC 4180), as programs and spreadsheets write them.

Blanks around cells, empty columns and empty rows are skipped. Errors name the separator, the column or the
row.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.inspect import Field, ListType, NoneType, UnionType

from service.audit.redaction import is_sensitive
from service.errors import BadRequest, RowFault, ValidationFailed
from service.kernel.sentences import metas_of
from service.kernel.text import unescape_formula
from service.kernel.type_faults import fields_of_struct
from service.web.messages.faults import shown_field

Raw = tuple[int, dict[str, Any] | RowFault]

_ROW: Final = "row"  # the field named in faults of a whole row
_SEPARATORS: Final[Mapping[str, str]] = {";": "semicolons", "\t": "tabs", "|": "bars"}
_DIRECTIVE: Final = re.compile(r"sep=(.?)", re.IGNORECASE)
"""The first line in which spreadsheets state the separator."""
_MARK: Final = "\ufeff"


class CsvTable:
    """Reads tables with rows of ``kind``; ``columns`` are by name; ``name`` is the field with the rows."""

    def __init__(self, name: str, columns: Mapping[str, Field], kind: type[Struct], most: int) -> None:
        self._name = name
        self._columns = columns
        self._by_key = {column.casefold(): column for column in columns}
        self._most = most
        self._as_they_are = frozenset(
            column for column, field in fields_of_struct(kind).items() if _keeps_blanks(column, field.type)
        )

    def rows(self, body: bytes) -> list[Raw]:
        """Return the rows with their numbers: 1 is the line after the header, and empty ones count.

        Raises ``BadRequest`` for invalid CSV, and ``ValidationFailed`` for the header and for too many rows.
        """
        lines = self._lines(body)
        first = next((place for place, cells in enumerate(lines) if _is_filled(cells)), len(lines))
        header = self._header(lines[first] if first < len(lines) else ())
        filled = [(number, cells) for number, cells in enumerate(lines[first + 1 :], 1) if _is_filled(cells)]
        if len(filled) > self._most:
            raise ValidationFailed((self._name, f"There must be at most {self._most} rows"))
        return [(number, self._row(number, header, cells)) for number, cells in filled]

    def _header(self, cells: Sequence[str]) -> list[str]:
        """Return the names of the columns, "" for unnamed ones; raises ValidationFailed."""
        names = [cell.strip() for cell in cells]
        while names and not names[-1]:
            names.pop()
        if not names:
            raise ValidationFailed((self._name, "The first line must name the columns"))
        known = [self._by_key.get(name.casefold(), "") for name in names]
        if not any(known):
            self._require_commas(",".join(names))
        if faults := list(self._header_faults(names, known)):
            raise ValidationFailed(*faults)
        return known

    def _header_faults(self, names: Sequence[str], known: Sequence[str]) -> Iterator[tuple[str, str]]:
        for place, (name, column) in enumerate(zip(names, known, strict=True)):
            if column in known[:place] and column:
                yield column, f"The column is named twice: in {_letters(place)} too"
            elif name and not column:
                listed = ", ".join(self._columns)
                yield shown_field(name, self._name), f"Column {_letters(place)} is none of {listed}"
        for needed, field in self._columns.items():
            if field.required and needed not in known:
                yield needed, "The column is required"

    def _require_commas(self, header: str) -> None:
        """Raise ValidationFailed for a header whose names are separated by anything else."""
        directive = _DIRECTIVE.match(header)
        for separator, word in _SEPARATORS.items():
            names = (name.strip(' "').casefold() for name in header.split(separator)[1:])
            if any(name in self._by_key for name in names) or (directive and directive[1] == separator):
                fault = f"The columns are separated by {word}: separate them by commas"
                raise ValidationFailed((self._name, fault))

    def _lines(self, body: bytes) -> list[list[str]]:
        """Return the lines of the table, as cells; raises BadRequest and ValidationFailed."""
        try:
            text = body.decode("utf-8").removeprefix(_MARK)  # spreadsheets write a byte order mark
        except UnicodeDecodeError:
            raise BadRequest("The body is not UTF-8") from None
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            return list(reader)
        except csv.Error:
            self._require_commas(text.strip().splitlines()[0])
            raise BadRequest(f"The body is not well-formed CSV: see line {reader.line_num}") from None

    def _row(self, number: int, header: Sequence[str], cells: Sequence[str]) -> dict[str, Any] | RowFault:
        if len(cells) < len(header):
            missing = next((name for name in header[len(cells) :] if name), _ROW)
            return RowFault(number, missing, f"The row has {len(cells)} cells, and the header {len(header)}")
        row: dict[str, Any] = {}
        for place, cell in enumerate(cells):
            name = header[place] if place < len(header) else ""
            if not name:
                if cell.strip():
                    fault = f"Column {_letters(place)} has a value here, and no name in the header"
                    return RowFault(number, _ROW, fault)
                continue
            if "\0" in cell:
                return RowFault(number, name, "must not hold U+0000, which can't be seen")
            text = cell if name in self._as_they_are else cell.strip()
            _put(row, self._columns[name], unescape_formula(text))
        return row


def _keeps_blanks(name: str, kind: Any) -> bool:
    """Return whether blanks at the ends of a text are significant: in passwords and multi-line texts."""
    rules = (meta.extra.get("rule") for meta in metas_of(kind) if meta.extra)
    return is_sensitive(name) or any(getattr(rule, "lines", False) for rule in rules)


def _is_filled(cells: Sequence[str]) -> bool:
    return any(cell.strip() for cell in cells)


def _letters(place: int) -> str:
    """Return the spreadsheet letters of a column, whose position is counted from 0."""
    letters = ""
    while place >= 0:
        letters = chr(ord("A") + place % 26) + letters
        place = place // 26 - 1
    return letters


def _put(row: dict[str, Any], column: Field, text: str) -> None:
    """Set the value of ``text`` in ``column``, unless it stands for an absent field."""
    kinds = column.type.types if isinstance(column.type, UnionType) else (column.type,)
    if any(isinstance(kind, ListType) for kind in kinds):
        row[column.encode_name] = text.split()
    elif text:
        row[column.encode_name] = text
    elif any(isinstance(kind, NoneType) for kind in kinds):
        row[column.encode_name] = None
    elif column.required:
        row[column.encode_name] = text
