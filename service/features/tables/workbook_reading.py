"""Reading of workbooks (Office Open XML, ECMA-376): the cells of the one sheet that has any, as texts.

Nothing outside the body is opened. A formula is neither computed nor replaced by the value that the file
keeps for it. A document type, which entities need, is refused. Limits hold for the unpacked size, and for the
numbers of parts, sheets, elements, lines, columns and cells.
"""

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from xml.parsers import expat

from service.errors import BadRequest
from service.features.tables.csv_tables import Cell, Unreadable
from service.features.tables.sentences import sentence

MOST_PARTS: Final = 200
"""Files in the archive."""
MOST_UNPACKED: Final = 16 * 1024 * 1024
"""Bytes of all parts that are read, unpacked."""
MOST_SHEETS: Final = 20
MOST_LINES: Final = 20_000
"""The number of the last line, with empty ones."""
MOST_COLUMNS: Final = 256
MOST_CELLS: Final = 250_000
MOST_ELEMENTS: Final = 1_000_000
"""XML elements of one part."""

_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The methods of packages (ISO 29500 part 2); with LZMA the file would choose the memory of unpacking."""
_CHUNK: Final = 64 * 1024
_OLD: Final = b"\xd0\xcf\x11\xe0"  # a compound file: XLS, or a workbook with a password
_ZIP: Final = b"PK\x03\x04"
_PLACE: Final = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_ESCAPE: Final = re.compile("_x([0-9A-Fa-f]{4})_")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_NATURAL: Final = re.compile("[0-9]{1,7}")
_WHOLE: Final = re.compile(r"-?[0-9]{1,15}(?:\.0*)?")
_FRACTION: Final = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")
_MOST_DIGITS: Final = 15
# Number formats of dates and times among the predefined ones (ECMA-376 part 1, §18.8.30).
_DATES: Final = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_TIME_LETTERS: Final = re.compile("[ymdhs]")
_QUOTED: Final = re.compile(r'"[^"]*"|\\.|_.|\[[^\]]*\]')

_DATE: Final = Unreadable("cell_with_date")
_ERROR: Final = Unreadable("cell_with_error")
_FORMULA: Final = Unreadable("cell_with_formula")
_ROUNDED: Final = Unreadable("cell_rounded")

Attributes = Mapping[str, str]


def lines_of(body: bytes) -> list[list[Cell]]:
    """Return the lines of the visible sheet with cells, from line 1, empty lines too.

    Raises BadRequest for a file that is no such workbook, or exceeds a limit.
    """
    if body.startswith(_OLD):
        raise BadRequest(sentence("workbook_locked"))
    if not body.startswith(_ZIP):
        raise BadRequest(sentence("not_a_workbook"))
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return _Book(archive).lines()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError):
        # An unknown method or a password of the archive is an error of its own.
        raise BadRequest(sentence("workbook_archive_damaged")) from None
    except (expat.ExpatError, LookupError):  # LookupError: the part names an unknown encoding
        raise BadRequest(sentence("workbook_xml_damaged")) from None


class _Book:
    """The parts of a workbook, read within the limits."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        members = archive.infolist()
        if len(members) > MOST_PARTS:
            raise BadRequest(sentence("workbook_too_many_parts", most=MOST_PARTS))
        self._archive = archive
        self._members = {member.filename.lower(): member for member in members}
        if len(self._members) != len(members):
            raise BadRequest(sentence("workbook_part_twice"))
        if any(member.compress_type not in _METHODS for member in members):
            raise BadRequest(sentence("workbook_archive_damaged"))
        if any(name.endswith("vbaproject.bin") for name in self._members):
            raise BadRequest(sentence("workbook_with_macros"))
        self._left = MOST_UNPACKED

    def lines(self) -> list[list[Cell]]:
        """Return the lines of the only sheet with cells."""
        book = next(iter(self._related("", "officeDocument").values()), None)
        if book is None:
            raise BadRequest(sentence("not_a_workbook"))
        sheets = _Sheets()
        self._parse(book, sheets.begin)
        if len(sheets.visible) > MOST_SHEETS:
            raise BadRequest(sentence("workbook_too_many_sheets", most=MOST_SHEETS))
        places = self._related(book, "worksheet")
        styles = _Styles()
        for part in self._related(book, "styles").values():
            self._parse(part, styles.begin)
        shared = _SharedTexts()
        for part in self._related(book, "sharedStrings").values():
            self._parse(part, shared.begin, shared.end, shared.text)
        filled: list[list[list[Cell]]] = []
        for relation in sheets.visible:
            if relation in places:
                sheet = _Sheet(styles.is_date, shared.texts)
                self._parse(places[relation], sheet.begin, sheet.end, sheet.text)
                if sheet.has_cells:
                    filled.append(sheet.lines)
        if len(filled) > 1:
            raise BadRequest(sentence("workbook_several_sheets", count=len(filled)))
        return filled[0] if filled else []

    def _related(self, part: str, kind: str) -> dict[str, str]:
        """Return the parts of ``kind`` that ``part`` refers to, by the ids of the relations.

        External targets, which are outside the archive, are left out.
        """
        folder, name = posixpath.split(part)
        place = posixpath.join(folder, "_rels", f"{name}.rels")
        related: dict[str, str] = {}

        def begin(element: str, attributes: Attributes) -> None:
            if element != "Relationship" or attributes.get("TargetMode") == "External":
                return
            if attributes.get("Type", "").rsplit("/", 1)[-1] == kind:
                target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", "")))
                related[attributes.get("Id", "")] = target.lstrip("/")

        if place.lower() in self._members:
            self._parse(place, begin)
        return related

    def _parse(
        self,
        part: str,
        begin: Callable[[str, Attributes], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        """Read a part; elements and attributes are known by their names without a namespace."""
        member = self._members.get(part.lower())
        if member is None:
            raise BadRequest(sentence("workbook_part_missing"))
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        elements = 0

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal elements
            elements += 1
            if elements > MOST_ELEMENTS:
                raise BadRequest(sentence("workbook_too_large"))
            begin(_local(name), {_local(key): value for key, value in attributes.items()})

        parser.StartElementHandler = start
        if end is not None:
            parser.EndElementHandler = lambda name: end(_local(name))
        if text is not None:
            parser.CharacterDataHandler = text
        parser.StartDoctypeDeclHandler = _refuse_doctype
        for chunk in self._chunks(member):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)

    def _chunks(self, member: zipfile.ZipInfo) -> Iterator[bytes]:
        """Yield the content of a part; what counts is what is unpacked, whatever the archive says."""
        with self._archive.open(member) as content:
            while chunk := content.read(_CHUNK):
                self._left -= len(chunk)
                if self._left < 0:
                    raise BadRequest(sentence("workbook_too_large_unpacked", most=MOST_UNPACKED // 1024**2))
                yield chunk


def _local(name: str) -> str:
    """Return an expanded name without its namespace: transitional and strict files differ in these."""
    return name.rsplit(" ", 1)[-1]


def _refuse_doctype(*_: Any) -> None:
    raise BadRequest(sentence("workbook_with_document_type"))


class _Sheets:
    """The ids of the relations of the visible sheets."""

    def __init__(self) -> None:
        self.visible: list[str] = []

    def begin(self, element: str, attributes: Attributes) -> None:
        if element == "sheet" and attributes.get("state", "visible") == "visible":
            self.visible.append(attributes.get("id", ""))


class _Styles:
    """The formats of cells that show dates or times."""

    def __init__(self) -> None:
        self.is_date: list[bool] = []
        self._custom: set[str] = set()
        self._within = False

    def begin(self, element: str, attributes: Attributes) -> None:
        number = attributes.get("numFmtId", "")
        if element == "numFmt":
            if _TIME_LETTERS.search(_QUOTED.sub("", attributes.get("formatCode", "").lower())):
                self._custom.add(number)
        elif element in ("cellXfs", "cellStyleXfs"):
            self._within = element == "cellXfs"
        elif element == "xf" and self._within:
            self.is_date.append(number in self._custom or _natural(number, 0) in _DATES)


class _Text:
    """Collects the text of a cell: that of ``t`` elements, without phonetic hints (``rPh``)."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._in_text = False
        self._in_hint = False

    def begin(self, element: str) -> None:
        if element == "rPh":
            self._in_hint = True
        elif element == "t":
            self._in_text = not self._in_hint

    def end(self, element: str) -> None:
        if element == "rPh":
            self._in_hint = False
        elif element == "t":
            self._in_text = False

    def add(self, text: str) -> None:
        if self._in_text:
            self._parts.append(text)

    def take(self) -> str:
        """Return the text, with its escapes resolved, and begin the next one."""
        parts, self._parts = self._parts, []
        return unescaped("".join(parts))


class _SharedTexts:
    """The texts that cells of all sheets share."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._text = _Text()

    def begin(self, element: str, _attributes: Attributes) -> None:
        self._text.begin(element)

    def end(self, element: str) -> None:
        self._text.end(element)
        if element == "si":
            self.texts.append(self._text.take())

    def text(self, text: str) -> None:
        self._text.add(text)


class _Sheet:
    """The cells of a sheet, in lines."""

    def __init__(self, is_date: list[bool], shared: list[str]) -> None:
        self.lines: list[list[Cell]] = []
        self.has_cells = False
        self._is_date = is_date
        self._shared = shared
        self._line = 0
        self._cells = 0
        self._column = -1
        self._attributes: Attributes = {}
        self._value: list[str] = []
        self._in_value = False
        self._has_formula = False
        self._text = _Text()

    def begin(self, element: str, attributes: Attributes) -> None:
        if element == "row":
            self._begin_line(attributes.get("r", ""))
        elif element == "c":
            self._begin_cell(attributes)
        elif element == "v":
            self._in_value = True
        elif element == "f":
            self._has_formula = True
        else:
            self._text.begin(element)

    def end(self, element: str) -> None:
        if element == "v":
            self._in_value = False
        elif element == "c":
            cell = self._cell()
            if cell != "":
                line = self.lines[-1]
                line += [""] * (self._column + 1 - len(line))
                line[self._column] = cell
                self.has_cells = True
        else:
            self._text.end(element)

    def text(self, text: str) -> None:
        if self._in_value:
            self._value.append(text)
        else:
            self._text.add(text)

    def _begin_line(self, number: str) -> None:
        line = _natural(number, self._line + 1)
        if line <= self._line:
            raise BadRequest(sentence("workbook_lines_disordered"))
        if line > MOST_LINES:
            raise BadRequest(sentence("sheet_too_long", most=f"{MOST_LINES:,}"))
        self.lines += [[] for _ in range(line - self._line)]
        self._line = line
        self._column = -1

    def _begin_cell(self, attributes: Attributes) -> None:
        if not self.lines:
            raise BadRequest(sentence("workbook_cell_outside"))
        self._cells += 1
        place = _PLACE.fullmatch(attributes.get("r", ""))
        column = self._column + 1 if place is None else _position(place[1])
        if column <= self._column:
            raise BadRequest(sentence("workbook_cells_disordered"))
        self._column = column
        if self._cells > MOST_CELLS:
            raise BadRequest(sentence("sheet_too_many_cells"))
        self._attributes = attributes
        self._value = []
        self._has_formula = False
        self._text.take()

    def _cell(self) -> Cell:
        if self._has_formula:
            cell: Cell = _FORMULA
        else:
            cell = self._read("".join(self._value))
        if cell != "" and self._column >= MOST_COLUMNS:
            raise BadRequest(sentence("sheet_too_wide", most=MOST_COLUMNS))
        return cell

    def _read(self, value: str) -> Cell:
        """Return the cell whose ``v`` element has ``value``, by its type (§18.18.11, ST_CellType)."""
        kind = self._attributes.get("t", "n")
        cell: Cell
        if kind == "inlineStr":
            cell = self._text.take()
        elif not value:
            cell = ""
        elif kind == "s":
            cell = self._shared_text(value)
        elif kind == "str":
            cell = unescaped(value)
        elif kind == "b":
            cell = "true" if value == "1" else "false"
        elif kind == "e":
            cell = _ERROR
        elif kind == "d" or self._shows_date():
            cell = _DATE
        else:
            cell = _number(value)
        return cell

    def _shared_text(self, value: str) -> str:
        place = _natural(value, len(self._shared))
        if place >= len(self._shared):
            raise BadRequest(sentence("workbook_text_missing"))
        return self._shared[place]

    def _shows_date(self) -> bool:
        place = _natural(self._attributes.get("s", "0"), 0)
        return place < len(self._is_date) and self._is_date[place]


def _natural(text: str, otherwise: int) -> int:
    """Return the number that ``text`` has in at most seven digits; ``otherwise`` for any other text."""
    return int(text) if _NATURAL.fullmatch(text) else otherwise


def _position(column: str) -> int:
    """Return the position of a column by its letters, counted from 0."""
    place = 0
    for letter in column:
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1


def _number(value: str) -> Cell:
    """Return a number as people write it; one with more digits than a spreadsheet keeps is unreadable."""
    if _WHOLE.fullmatch(value):
        return value.split(".", maxsplit=1)[0]
    if _FRACTION.fullmatch(value):
        shortest = format(float(value), f".{_MOST_DIGITS}g")
        if "e" not in shortest:
            return shortest
    return _ROUNDED


def unescaped(text: str) -> str:
    """Return ``text`` with the characters for which ``_xHHHH_`` stands (§22.9.2.19, ST_Xstring)."""
    if "_x" not in text:
        return text
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    if _SURROGATES.search(plain):
        plain = plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return plain
