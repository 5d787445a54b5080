"""Workbooks of Office Open XML (ECMA-376, XLSX), written while they are sent, in the memory of one batch.

A cell is a text, a number or a time; no cell is a formula. Texts have the format *Text*. So a spreadsheet
keeps leading zeros and computes nothing, even after an edit of the cell.
"""

import io
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from service.kernel.text import column_letters

MOST_CHARACTERS: Final = 32_767
"""The maximum length of the text in a cell, in units of UTF-16 (ECMA-376 part 1, §18.18.9, and Excel)."""
CUT: Final = " …"
"""The end of a text that is longer; no permission code, so that an import refuses the cell."""
SHEET_ROWS: Final = 200_000
"""Rows of a sheet; further ones follow in the next sheet, since a sheet holds 1,048,576 rows and 2 GiB."""
UTC_SUFFIX: Final = " (UTC)"

_FIRST_DAY: Final = datetime(1899, 12, 30, tzinfo=UTC)  # day 0 of dates after February 1900
_OLDEST: Final = datetime(1900, 3, 1, tzinfo=UTC)
_DAY: Final = 86_400
_MOST_EXACT: Final = 10**15  # spreadsheets keep 15 digits of a number
_TEXT: Final = 1  # places in cellXfs
_TIME: Final = 2
_HEAD: Final = 3
# Characters that XML 1.0 can't hold, a carriage return, which XML reads as a line feed, and the begin of a
# text that looks like an escape (ECMA-376 part 1, §22.9.2.19, ST_Xstring).
_ESCAPED: Final = re.compile("_(?=x[0-9A-Fa-f]{4}_)|[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")

_XML: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_KIND: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_CONTENT: Final = (
    f'{_XML}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Default Extension="xml" ContentType="{_KIND}.worksheet+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_KIND}.styles+xml"/></Types>'
)
_PACKAGE: Final = (
    f'{_XML}<Relationships xmlns="{_RELATIONS}">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
)
_STYLES: Final = (
    f'{_XML}<styleSheet xmlns="{_MAIN}">'
    '<numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss.000"/></numFmts>'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>'
    "</cellXfs>"
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)


class _Sink(io.RawIOBase):
    """Collects the written bytes until they are taken; it can't seek, so the archive is written in order."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        return len(part)

    def take(self) -> bytes:
        """Return the bytes that were written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


class Workbook:
    """Writes rows to a workbook named ``name``; ``columns`` are the texts of the frozen first row.

    Each method returns the bytes of the file that are complete. Columns in ``texts`` hold numbers as text,
    such as ids. Columns in ``times`` are in UTC, and their heads say so. Not for the event loop.
    """

    def __init__(
        self, name: str, columns: Sequence[str], *, times: Collection[str] = (), texts: Collection[str] = ()
    ) -> None:
        self._name = name
        self._heads = [f"{column}{UTC_SUFFIX}" if column in times else column for column in columns]
        self._letters = [column_letters(place) for place in range(len(columns))]
        self._kinds = [(column in times, column in texts) for column in columns]
        self._sink = _Sink()
        self._archive = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._sheets = 0
        self._row = 0
        self._sheet: Any = None

    def begin(self) -> bytes:
        """Begin the file."""
        self._put("[Content_Types].xml", _CONTENT)
        self._put("_rels/.rels", _PACKAGE)
        self._put("xl/styles.xml", _STYLES)
        self._begin_sheet()
        return self._sink.take()

    def add(self, rows: Iterable[Iterable[Any]]) -> bytes:
        """Add rows of cells: text, number or None; times are texts of RFC 3339."""
        waiting: list[str] = []
        for cells in rows:
            if self._row > SHEET_ROWS:
                self._write(waiting)
                waiting = []
                self._end_sheet()
                self._begin_sheet()
            waiting.append(self._row_of(cells, _TEXT))
        self._write(waiting)
        return self._sink.take()

    def end(self) -> bytes:
        """Complete the file."""
        self._end_sheet()
        numbers = range(1, self._sheets + 1)
        sheets = "".join(
            f'<sheet name={quoteattr(self._sheet_name(number))} sheetId="{number}" r:id="rId{number}"/>'
            for number in numbers
        )
        links = "".join(
            f'<Relationship Id="rId{number}" Type="{_OFFICE}/worksheet"'
            f' Target="worksheets/sheet{number}.xml"/>'
            for number in numbers
        )
        styles = f'<Relationship Id="rId{self._sheets + 1}" Type="{_OFFICE}/styles" Target="styles.xml"/>'
        self._put(
            "xl/_rels/workbook.xml.rels",
            f'{_XML}<Relationships xmlns="{_RELATIONS}">{links}{styles}</Relationships>',
        )
        self._put(
            "xl/workbook.xml",
            f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets></workbook>',
        )
        self._archive.close()
        return self._sink.take()

    def _put(self, path: str, text: str) -> None:
        self._archive.writestr(path, text.encode())

    def _sheet_name(self, number: int) -> str:
        return self._name if number == 1 else f"{self._name} {number}"

    def _begin_sheet(self) -> None:
        self._sheets += 1
        self._row = 0
        self._sheet = self._archive.open(f"xl/worksheets/sheet{self._sheets}.xml", "w")
        frozen = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
        views = f'<sheetViews><sheetView workbookViewId="0">{frozen}</sheetView></sheetViews>'
        columns = (
            f'<cols><col min="1" max="{len(self._heads)}" width="20" style="{_TEXT}" customWidth="1"/></cols>'
        )
        self._write([f'{_XML}<worksheet xmlns="{_MAIN}">{views}{columns}<sheetData>'])
        self._write([self._row_of(self._heads, _HEAD)])

    def _end_sheet(self) -> None:
        self._write(["</sheetData></worksheet>"])
        self._sheet.close()

    def _write(self, parts: Iterable[str]) -> None:
        self._sheet.write("".join(parts).encode())

    def _row_of(self, cells: Iterable[Any], style: int) -> str:
        self._row += 1
        return f'<row r="{self._row}">{"".join(self._cells(cells, style))}</row>'

    def _cells(self, cells: Iterable[Any], style: int) -> Iterator[str]:
        for letter, (is_time, is_text), cell in zip(self._letters, self._kinds, cells, strict=True):
            place = f"{letter}{self._row}"
            if cell is None or cell == "":
                continue
            if is_time and style == _TEXT and (moment := datetime.fromisoformat(str(cell))) >= _OLDEST:
                days = (moment - _FIRST_DAY).total_seconds() / _DAY
                yield f'<c r="{place}" s="{_TIME}"><v>{days:.9f}</v></c>'
            elif isinstance(cell, int | float) and not is_text and abs(cell) < _MOST_EXACT:
                yield f'<c r="{place}"><v>{cell}</v></c>'
            else:
                text = escaped(cut(str(cell)))
                kept = f'<is><t xml:space="preserve">{text}</t></is>'
                yield f'<c r="{place}" s="{style}" t="inlineStr">{kept}</c>'


def cut(text: str) -> str:
    """Return ``text`` with at most as many characters as a cell holds; a longer one ends with ``CUT``."""
    if len(text) * 2 <= MOST_CHARACTERS:
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= MOST_CHARACTERS * 2:
        return text
    kept = units[: (MOST_CHARACTERS - len(CUT)) * 2].decode("utf-16-le", "ignore")
    return f"{kept.rsplit(' ', 1)[0]}{CUT}"


def escaped(text: str) -> str:
    """Return ``text`` as content of an XML element in a workbook."""
    return escape(_ESCAPED.sub(lambda match: f"_x{ord(match[0]):04X}_", text))
