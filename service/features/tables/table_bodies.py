"""Tables: bodies of many rows, as JSON, CSV or a workbook; each row is validated on its own."""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.inspect import Field, ListType, StructType, type_info

from service.errors import BadRequest, RowFault, RowsRefused, UnsupportedMediaType, ValidationFailed
from service.features.tables.csv_tables import CellTable, Raw
from service.features.tables.sentences import sentence
from service.kernel.cooperative_yield import cooperatively
from service.kernel.sentences import with_null
from service.kernel.strict_json import strict_json
from service.web.content.streams import JSON, JSON_LINES, XLSX
from service.web.messages.bodies import MAX_BODY, JsonBody
from service.web.messages.dialect import BodyReader, OwnBody
from service.web.messages.faults import check_text, faults_of
from service.web.messages.request import Request
from service.web.messages.schema import Schema

CSV: Final = "text/csv"
MAX_ROWS: Final = 1000
"""The maximum number of rows of a table."""

_ROW: Final = "row"  # the field named in faults of a whole row
# RFC 7111 §4.1 and RFC 4180 §3; a table without a header would be misread.
_CSV: Final = re.compile(
    r'text/csv(?:[ \t]*;[ \t]*(?:charset=(?:utf-8|"utf-8")|header="?present"?))*[ \t]*;?[ \t]*'
)


class Table(Schema, OwnBody, dict=True):
    """A body of rows: its only field is a list of Structs with a ``max_length``.

    ``numbers`` are those of the rows where they were read: a sheet may have empty ones between them.

    In JSON Lines each line is a row. In CSV (RFC 4180, with a header, in UTF-8) and in a workbook (XLSX) the
    columns are the fields of the rows. A list is written as words separated by spaces. An empty cell is an
    empty list, else null if allowed, else absent.
    """

    media_types: ClassVar[tuple[str, ...]] = (JSON,)
    numbers: ClassVar[Sequence[int]] = ()

    @classmethod
    def body_reader(cls) -> BodyReader:
        """Return the reader for such tables, in each of their formats."""
        return TableBody(cls)

    @classmethod
    def further(cls, example: Any) -> Mapping[str, Any]:
        """Return the table as CSV, as JSON Lines and as a workbook."""
        return {
            CSV: {"schema": {"type": "string"}, "example": header_of(cls)},
            JSON_LINES: {"schema": {"type": "string"}, "example": _as_lines(example)},
            XLSX: {"schema": {"type": "string", "format": "binary"}},
        }


T = TypeVar("T", bound=Table)


def rows_of(kind: type[Table]) -> tuple[Field, ListType, StructType]:
    """Return the only field of ``kind``, its type, and the type of the rows."""
    table = type_info(kind)
    assert isinstance(table, StructType)  # noqa: S101 - a Table is one
    (field,) = table.fields
    assert isinstance(field.type, ListType)  # noqa: S101 - see Table
    assert isinstance(field.type.item_type, StructType)  # noqa: S101 - see Table
    return field, field.type, field.type.item_type


class TableBody(Generic[T]):
    """Reads the bodies of one operation as ``kind``."""

    def __init__(self, kind: type[T]) -> None:
        field, rows, row = rows_of(kind)
        self._kind = kind
        self._name = field.encode_name
        self._most = rows.max_length or MAX_ROWS
        self._row: type[Struct] = row.cls
        columns = {column.encode_name: column for column in row.fields}
        self._cells = CellTable(self._name, columns, row.cls, self._most)
        loose = Annotated[list[dict[str, Any]], Meta(max_length=self._most)]
        self._json = JsonBody(
            msgspec.defstruct("Loose", [(field.encode_name, loose)], forbid_unknown_fields=True)
        )

    async def read(self, request: Request) -> T:
        """Return the body of ``request``; raises the same refusals as ``JsonBody``.

        Raises RowsRefused with every row that breaks a rule of its type.
        """
        content_type = (request.content_type or "").lower()
        if content_type.startswith(CSV):
            if _CSV.fullmatch(content_type) is None or request.raw_header(b"content-encoding") is not None:
                raise UnsupportedMediaType(sentence("csv_form"))
            body = await request.body_within(MAX_BODY)
            return await asyncio.to_thread(lambda: self._made(self._cells.rows_of_csv(body), strict=False))
        if content_type == XLSX:
            if request.raw_header(b"content-encoding") is not None:
                raise UnsupportedMediaType(sentence("body_compressed"))
            body = await request.body_within(MAX_BODY)
            return await asyncio.to_thread(lambda: self._made(self._from_workbook(body), strict=False))
        if content_type == JSON_LINES:
            if request.raw_header(b"content-encoding") is not None:
                raise UnsupportedMediaType(sentence("body_compressed"))
            body = await request.body_within(MAX_BODY)
            return await asyncio.to_thread(lambda: self._made(self._from_lines(body), strict=True))
        if not content_type.startswith(JSON):
            raise UnsupportedMediaType(
                sentence(
                    "table_type", types=sentence("either", first=[JSON, JSON_LINES], last=CSV), workbook=XLSX
                )
            )
        rows = getattr(await self._json.read(request), self._name)
        return await asyncio.to_thread(lambda: self._made(enumerate(rows, 1), strict=True))

    def _made(self, rows: Iterable[Raw], *, strict: bool) -> T:
        made, numbers = [], []
        faults = []
        for number, row in cooperatively(rows):
            if isinstance(row, RowFault):
                faults.append(row)
                continue
            try:
                made.append(msgspec.convert(row, self._row, strict=strict))
                numbers.append(number)
            except msgspec.ValidationError:
                wrong = faults_of(row, self._row, _ROW, strict=strict)
                # In a sheet an empty cell stands for null, which its author does not know.
                faults += [
                    RowFault(number, field, message if strict else with_null(message, null=False))
                    for field, message in wrong
                ]
        if faults:
            raise RowsRefused(faults)
        table = self._kind(made)
        table.__dict__["numbers"] = numbers
        return table

    def _from_workbook(self, body: bytes) -> list[Raw]:
        from service.features.tables.workbook_reading import lines_of  # noqa: PLC0415 - few workers read one

        return self._cells.rows(lines_of(body), from_first=True)

    def _from_lines(self, body: bytes) -> list[Raw]:
        lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
        if len(lines) > self._most:
            raise ValidationFailed((self._name, sentence("too_many_rows", most=self._most)))
        return [(number, _object(number, line)) for number, line in lines]


def _object(number: int, line: bytes) -> dict[str, Any] | RowFault:
    """Return the row in a line of JSON Lines."""
    try:
        strict_json(line, numbers_as_text=True)  # duplicate members, and everything that other parsers refuse
        row = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        raise BadRequest(sentence("line_not_json", line=number)) from None
    if not isinstance(row, dict):
        return RowFault(number, _ROW, sentence("line_not_object"))
    try:
        check_text(row)
    except ValidationFailed as refusal:
        fault, *_ = refusal.faults
        return RowFault(number, fault.field, fault.sentence)
    return row


def header_of(kind: type[Table]) -> str:
    """Return the first line of a table in CSV, with all its columns."""
    return ",".join(column.encode_name for column in rows_of(kind)[2].fields) + "\r\n"


def _as_lines(example: Mapping[str, Any] | None) -> str:
    """Return the rows of an example of a table as JSON Lines."""
    return "".join(f"{json.dumps(row)}\n" for rows in (example or {}).values() for row in rows)
