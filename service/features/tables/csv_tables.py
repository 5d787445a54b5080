"""Tables of text cells: CSV (RFC 4180), as programs and spreadsheets write it, and the rows of any table.

Commas, semicolons or tabs separate cells; the header shows which. Blanks around cells, empty columns and
empty rows are skipped. Errors name the separator, the column or the row.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from msgspec import Struct
from msgspec.inspect import Field, ListType, NoneType, UnionType

from service.audit.redaction import is_sensitive
from service.errors import BadRequest, RowFault, ValidationFailed
from service.features.tables.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.kernel.sentences import metas_of
from service.kernel.text import column_letters, unescape_formula, unseen
from service.kernel.type_faults import fields_of_struct
from service.web.messages.faults import shown_field

Raw = tuple[int, dict[str, Any] | RowFault]


class Unreadable(Struct, frozen=True):
    """A cell without a value that could be imported; ``code`` is that of the sentence that says why."""

    code: str


Cell = str | Unreadable

_ROW: Final = "row"  # the field named in faults of a whole row
_SEPARATORS: Final = {",": "`,`", ";": "`;`", "\t": "a tab"}
"""Separators that are read, and their names in messages; programs write commas."""
_OTHERS: Final = {"|": "`|`", ":": "`:`"}
_DIRECTIVE: Final = re.compile(r"sep=(.)(?:\r\n|\n|\r|$)", re.IGNORECASE)
"""The first line in which spreadsheets state the separator."""
_MARK: Final = "\ufeff"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


class CellTable:
    """Reads tables with rows of ``kind``; ``columns`` are by name; ``name`` is the field with the rows."""

    def __init__(self, name: str, columns: Mapping[str, Field], kind: type[Struct], most: int) -> None:
        self._name = name
        self._columns = columns
        self._by_key = {column.casefold(): column for column in columns}
        self.most = most
        self._as_they_are = frozenset(
            column for column, field in fields_of_struct(kind).items() if _keeps_blanks(column, field.type)
        )

    def rows_of_csv(self, body: bytes) -> list[Raw]:
        """Return the rows of a CSV; see ``rows``. Raises ``BadRequest`` for text that is no CSV in UTF-8."""
        if body.startswith(_UTF_16):
            raise BadRequest(sentence("table_utf16"))
        try:
            text = body.decode("utf-8").removeprefix(_MARK)  # spreadsheets write a byte order mark
        except UnicodeDecodeError:
            raise BadRequest(sentence("table_not_utf8")) from None
        if directive := _DIRECTIVE.match(text):
            if directive[1] not in _SEPARATORS:
                self._refuse_separator(directive[1])
            return self.rows(self._lines(text[directive.end() :], directive[1]), directive[1])
        separator = self._separator(text)
        return self.rows(self._lines(text, separator), separator)

    def rows(
        self, lines: Sequence[Sequence[Cell]], separator: str = "", *, from_first: bool = False
    ) -> list[Raw]:
        """Return the rows with their numbers: 1 is the line after the header, and empty ones count.

        With ``from_first`` 1 is the second line of the sheet, wherever the header is. Raises
        ``ValidationFailed`` for the header and for too many rows.
        """
        first = next((place for place, cells in enumerate(lines) if _is_filled(cells)), len(lines))
        header = self._header(lines[first] if first < len(lines) else (), separator)
        begin = first + 1 if from_first else 1
        following = lines[first + 1 :]
        filled = [(number, cells) for number, cells in enumerate(following, begin) if _is_filled(cells)]
        if len(filled) > self.most:
            raise ValidationFailed((self._name, sentence("too_many_rows", most=self.most)))
        return [(number, self._row(number, header, cells, separator)) for number, cells in filled]

    def _separator(self, text: str) -> str:
        """Return the separator by which the first line with text has the most names of columns."""
        line = next((line for line in text.splitlines() if line.strip(' ,;"\t')), "")
        return max(_SEPARATORS, key=lambda separator: self._names_in(line, separator))

    def _names_in(self, line: str, separator: str) -> int:
        """Return how many cells of ``line`` are names of columns, if ``separator`` separates them."""
        return sum(cell.strip(' \t"\u00a0').casefold() in self._by_key for cell in line.split(separator))

    def _header(self, cells: Sequence[Cell], separator: str) -> list[str]:
        """Return the names of the columns, "" for unnamed ones; raises ValidationFailed."""
        names = [cell.strip() if isinstance(cell, str) else "?" for cell in cells]
        while names and not names[-1]:
            names.pop()
        if not names:
            raise ValidationFailed((self._name, sentence("columns_missing")))
        known = [self._by_key.get(name.casefold(), "") for name in names]
        if separator and not any(known):
            self._suggest_separator(separator.join(names), separator)
        if faults := list(self._header_faults(names, known)):
            raise ValidationFailed(*faults)
        return known

    def _header_faults(self, names: Sequence[str], known: Sequence[str]) -> Iterator[tuple[str, Sentence]]:
        for place, (name, column) in enumerate(zip(names, known, strict=True)):
            if column in known[:place] and column:
                yield column, sentence("column_twice", column=column_letters(place))
            elif name and not column:
                stated = sentence("unknown_column", column=column_letters(place), columns=list(self._columns))
                yield shown_field(name, self._name), stated
        for needed, field in self._columns.items():
            if field.required and needed not in known:
                yield needed, sentence("column_required")

    def _suggest_separator(self, line: str, separator: str) -> None:
        """Raise ValidationFailed if another separator than ``separator`` would show names of columns."""
        others = [other for other in (*_SEPARATORS, *_OTHERS) if other != separator]
        best = max(others, key=lambda other: self._names_in(line, other))
        if self._names_in(line, best) > self._names_in(line, separator):
            self._refuse_separator(best)

    def _refuse_separator(self, separator: str) -> NoReturn:
        seems = _SEPARATORS.get(separator) or _OTHERS.get(separator) or "no character that is read"
        fault = sentence("other_separator", separator=seems)
        raise ValidationFailed((self._name, fault))

    def _lines(self, text: str, separator: str) -> list[list[str]]:
        """Return the lines of the table, as cells; raises BadRequest and ValidationFailed."""
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            return list(reader)
        except csv.Error:
            self._suggest_separator(next(iter(text.strip().splitlines()), ""), separator)
            raise BadRequest(sentence("not_csv", line=reader.line_num)) from None

    def _row(
        self, number: int, header: Sequence[str], cells: Sequence[Cell], separator: str
    ) -> dict[str, Any] | RowFault:
        if not separator:  # a workbook leaves out empty cells
            cells = [*cells, *([""] * (len(header) - len(cells)))]
        if len(cells) < len(header):
            missing = next((name for name in header[len(cells) :] if name), _ROW)
            fault = sentence("cells_differ", cells=len(cells), columns=len(header))
            line = separator.join(map(str, cells))
            for other, named in _SEPARATORS.items():
                if other != separator and line.count(other) == len(header) - 1:
                    fault = sentence(
                        "other_separator_of_row", cells=len(cells), columns=len(header), separator=named
                    )
            return RowFault(number, missing, fault)
        row: dict[str, Any] = {}
        for place, cell in enumerate(cells):
            name = header[place] if place < len(header) else ""
            if isinstance(cell, Unreadable):
                return RowFault(number, name or _ROW, sentence(cell.code, column=column_letters(place)))
            if not name:
                if cell.strip():
                    fault = sentence("column_without_name", column=column_letters(place))
                    return RowFault(number, _ROW, fault)
                continue
            if "\0" in cell:
                return RowFault(number, name, unseen("\0"))
            text = cell if name in self._as_they_are else cell.strip()
            _put(row, self._columns[name], unescape_formula(text))
        return row


def _keeps_blanks(name: str, kind: Any) -> bool:
    """Return whether blanks at the ends of a text are significant: in passwords and multi-line texts."""
    rules = (meta.extra.get("rule") for meta in metas_of(kind) if meta.extra)
    return is_sensitive(name) or any(getattr(rule, "lines", False) for rule in rules)


def _is_filled(cells: Sequence[Cell]) -> bool:
    return any(isinstance(cell, Unreadable) or cell.strip() for cell in cells)


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
