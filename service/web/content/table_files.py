"""Tables as files: their queries, exports in the format of imports, and the answer to an import."""

import csv
import io
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from service.administration.table_import import TableRow
from service.kernel.clock import now
from service.kernel.text import escape_formula
from service.web.content.streams import JSON, JSON_LINES, Format, Stream, attachment, json_document
from service.web.content.tables import CSV, Table, rows_of
from service.web.messages.schema import Schema


def table_file(
    batches: AsyncGenerator[Sequence[object], None],
    kind: type[Table],
    form: Format,
    name: str,
    *,
    without: Collection[str] = (),
) -> Stream:
    """Return the records of ``batches`` as a file named by ``name`` and the time.

    Its columns are those of an import of ``kind``, except the fields ``without``; a record has an attribute
    for each. The first batch, which may be empty, is read before anything is sent.
    """
    file_name = f"{name}-{now():%Y%m%dT%H%M%SZ}.{form}"
    headers = {"Content-Disposition": attachment(file_name)}
    rows, _, row = rows_of(kind)
    columns = {column.encode_name: column.name for column in row.fields if column.name not in without}
    if form == "csv":
        return Stream(_csv(batches, columns), f"{CSV}; charset=utf-8; header=present", headers)

    def encode(record: object) -> bytes:
        return msgspec.json.encode({key: getattr(record, name) for key, name in columns.items()})

    if form == "jsonl":
        return Stream(_lines(batches, encode), JSON_LINES, headers)
    return Stream(json_document(rows.encode_name, batches, encode), JSON, headers)


async def _csv(
    batches: AsyncGenerator[Sequence[object], None], columns: Mapping[str, str]
) -> AsyncGenerator[bytes, None]:
    lines: list[Iterable[str]] = [columns]
    async with aclosing(batches):
        async for batch in batches:
            text = io.StringIO()
            # Every cell is quoted: where ";" separates cells, one that isn't could be split before a formula.
            writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
            writer.writerows(
                [*lines, *([_cell(getattr(row, name)) for name in columns.values()] for row in batch)]
            )
            lines = []
            yield text.getvalue().encode()


async def _lines(
    batches: AsyncGenerator[Sequence[object], None], encode: Callable[[object], bytes]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(batches):
        async for batch in batches:
            yield b"".join(encode(row) + b"\n" for row in batch)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return escape_formula(" ".join(value) if isinstance(value, tuple | list) else str(value))


UNCHANGED = "unchanged"
NO_KEYS: Final = "sent again, an import finds its records by name and creates none twice"
"""Why imports refuse an ``Idempotency-Key``."""


class ExportQuery(Schema):
    """The format of the file. An import reads all of them."""

    format: Format = "csv"


class ImportQuery(Schema):
    """Options of an import."""

    dry_run: Annotated[bool, Meta(description="Check everything, save nothing.")] = False


class ImportedRow(Schema):
    """A created or updated record; `changes` are the changed fields of an updated one."""

    row: Annotated[int, Meta(ge=1, description="From 1; the header of a CSV is not counted.")]
    name: str
    outcome: Literal["created", "updated"]
    changes: list[str]
    note: str | None


class ImportReport(Schema):
    """What was done or, with `dryRun`, would be done. `rows` omits unchanged records."""

    dry_run: bool
    created: int
    updated: int
    unchanged: int
    rows: list[ImportedRow]


def report_of(rows: Iterable[Any], *, dry_run: bool) -> ImportReport:
    """Return the answer for ``rows``, each a record with the attributes of an ``ImportedRow``."""
    rows = list(rows)
    counts = Counter(row.outcome for row in rows)
    changed = [ImportedRow.of(row) for row in rows if row.outcome != UNCHANGED]
    return ImportReport(dry_run, counts["created"], counts["updated"], counts[UNCHANGED], changed)


def table_rows(rows: Iterable[Schema], *, name: str, codes: str) -> list[TableRow]:
    """Return the rows of a table, numbered from 1.

    ``name`` is the field that identifies a record, ``codes`` the field with its list of codes. A field
    ``password`` is kept separate; all others are values of the record.
    """
    return [_table_row(number, row.given(), name, codes) for number, row in enumerate(rows, 1)]


def _table_row(number: int, values: dict[str, Any], name: str, codes: str) -> TableRow:
    known_by = values.pop(name)
    given = values.pop(codes, None)
    password = values.pop("password", None)
    return TableRow(number, known_by, values, None if given is None else tuple(given), password)
